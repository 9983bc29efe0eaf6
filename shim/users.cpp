#include "shim/users.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>

#include "sdk/base/text.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::shim {
namespace {

/// NGROUPS_MAX of <linux/limits.h>, which takes other names along.
constexpr std::size_t kMaxGroups = 65536;

/// The lines of a colon-separated database; empty when there is no such regular file.
std::vector<std::vector<std::string>> read_database(const char* path) {
  struct stat before{}, after{};
  // stat first: opening a device node that the agent put here could have effects.
  if (::stat(path, &before) != 0 || !S_ISREG(before.st_mode)) return {};
  UniqueFd fd(::open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd || ::fstat(fd.get(), &after) != 0 || !S_ISREG(after.st_mode)) return {};
  std::string text(std::min(static_cast<std::size_t>(after.st_size), kMaxPasswdBytes), '\0');
  auto got = ::pread(fd.get(), text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  std::vector<std::vector<std::string>> lines;
  for (const auto& line : split(text, '\n')) lines.push_back(split(line, ':'));
  return lines;
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // -1 means "unchanged" to the set*id calls.
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value == UINT32_MAX) return std::nullopt;
  return value;
}

Error no_such(std::string_view what, std::string_view name, std::string_view file) {
  Error error = make_error(ErrorCode::not_found, "no such " + std::string(what) + " '" + std::string(name) + "' in the sandbox's " + std::string(file));
  error.cause = Cause::agent;
  error.cause_detail = "no_such_" + std::string(what);
  return error;
}

Result<gid_t> find_group(std::string_view name) {
  if (auto gid = number(name)) return *gid;
  for (const auto& line : read_database("/etc/group")) {
    if (line.size() >= 3 && line[0] == name) {
      if (auto gid = number(line[2])) return *gid;
    }
  }
  return no_such("group", name, "/etc/group");
}

void add_member_groups(Identity& identity) {
  for (const auto& line : read_database("/etc/group")) {
    if (line.size() < 4) continue;
    auto members = split(line[3], ',');
    auto gid = number(line[2]);
    if (gid && *gid != identity.gid && std::find(members.begin(), members.end(), identity.name) != members.end()) {
      identity.groups.push_back(*gid);
    }
  }
}

/// passwd: name:password:uid:gid:gecos:home:shell
Result<Identity> find_user(std::string_view name) {
  auto uid = number(name);
  for (const auto& line : read_database("/etc/passwd")) {
    if (line.size() < 6) continue;
    auto line_uid = number(line[2]), line_gid = number(line[3]);
    if (!line_uid || !line_gid || !(line[0] == name || (uid && uid == line_uid))) continue;
    Identity found{*line_uid, *line_gid, {*line_gid}, line[0], line[5]};
    add_member_groups(found);
    return found;
  }
  if (!uid) return no_such("user", name, "/etc/passwd");
  return Identity{*uid, 0, {0}, std::string(name), "/"};
}

/// What a change of ids failed by; `what`: "user 99999". The ids of a sandbox are those of its user namespace.
Error change_error(int number, const std::string& what) {
  if (number != EINVAL) return errno_error(number, "becoming " + what);
  return make_error(ErrorCode::invalid_argument, what + " isn't an id of this sandbox; which are is in its /proc/self/uid_map and gid_map");
}

std::string listed(const std::vector<gid_t>& groups) {
  constexpr std::size_t kShown = 16;
  std::string text;
  for (std::size_t i = 0; i < std::min(groups.size(), kShown); ++i) text += (i > 0 ? ", " : "") + std::to_string(groups[i]);
  return groups.size() > kShown ? text + ", ..." : text;
}

Status take_groups(const std::vector<gid_t>& groups) {
  if (groups.size() > kMaxGroups) {
    return make_error(ErrorCode::invalid_argument,
                      std::to_string(groups.size()) + " groups: at most " + std::to_string(kMaxGroups) + ", the process's own included");
  }
  if (::setgroups(groups.size(), groups.data()) == 0) return {};
  return errno == EINVAL ? change_error(EINVAL, "one of the groups " + listed(groups)) : errno_error(errno, "setgroups");
}

}  // namespace

Result<Identity> resolve_user(std::string_view user, const std::vector<std::string>& groups) {
  auto colon = user.find(':');
  auto name = user.substr(0, colon);
  Identity identity;
  if (!name.empty() && name != "0") {
    HARENA_TRY(identity, find_user(name));
  }
  if (colon != std::string_view::npos) {
    HARENA_TRY(identity.gid, find_group(user.substr(colon + 1)));
    identity.groups = {identity.gid};
  }
  if (!groups.empty()) identity.groups = {identity.gid};
  for (const auto& group : groups) {
    HARENA_TRY(auto gid, find_group(group));
    identity.groups.push_back(gid);
  }
  return identity;
}

Status become(const Identity& identity) {
  // Root of the namespace first: leaving that for another user is what makes the kernel clear the capabilities. No look at the own
  // uid before: outside of the namespace's map it reads as 65534, which may be the very user that is asked for.
  if (::setresuid(0, 0, 0) != 0) {
    bool already = errno == EPERM && ::geteuid() == identity.uid && ::getegid() == identity.gid;
    return already ? ok_status() : errno_error(errno, "becoming root of the sandbox");
  }
  HARENA_TRY_STATUS(take_groups(identity.groups));
  if (::setresgid(identity.gid, identity.gid, identity.gid) != 0) {
    return change_error(errno, "group " + std::to_string(identity.gid));
  }
  if (::setresuid(identity.uid, identity.uid, identity.uid) != 0) {
    return change_error(errno, "user " + std::to_string(identity.uid));
  }
  return {};
}

}  // namespace harena::shim
