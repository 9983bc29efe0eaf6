#include "plugins/e2b/envd/accounts.hpp"

#include <algorithm>

#include "sdk/base/text.hpp"

namespace harena::e2b {

namespace {

std::optional<std::uint32_t> number(const std::string& text) {
  const auto value = parse_int(text, 0, UINT32_MAX, "id");
  if (!value) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

/// The length of the character that begins `bytes`, 0 when it isn't UTF-8.
std::size_t character(std::string_view bytes) {
  for (std::size_t length = 1; length <= 4 && length <= bytes.size(); ++length) {
    if (is_utf8(bytes.substr(0, length))) return length;
  }
  return 0;
}

}  // namespace

Accounts Accounts::parse(std::string_view passwd, std::string_view group) {
  Accounts all;
  for (const auto& line : split(passwd, '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() < 6 || fields[0].empty()) continue;
    const auto uid = number(fields[2]);
    const auto gid = number(fields[3]);
    if (!uid || !gid) continue;
    const bool has_home = fields[5].starts_with('/');
    all.users_.push_back({fields[0], *uid, *gid, has_home ? clean_path(fields[5]) : "/"});
  }
  for (const auto& line : split(group, '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() < 3 || fields[0].empty()) continue;
    if (const auto gid = number(fields[2])) all.groups_.push_back({fields[0], *gid});
  }
  return all;
}

Result<Account> Accounts::find(std::string_view name) const {
  const auto found = std::find_if(users_.begin(), users_.end(), [&](const Account& user) { return user.name == name; });
  if (found != users_.end()) return *found;
  if (name == "root") return Account{"root", 0, 0, "/root"};
  return make_error(ErrorCode::unauthenticated, "invalid username: '" + std::string(name) + "'");
}

std::string Accounts::user_name(std::uint32_t uid) const {
  const auto found = std::find_if(users_.begin(), users_.end(), [&](const Account& user) { return user.uid == uid; });
  return found != users_.end() ? as_utf8(found->name) : std::to_string(uid);
}

std::string Accounts::group_name(std::uint32_t gid) const {
  const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) { return group.gid == gid; });
  return found != groups_.end() ? as_utf8(found->name) : std::to_string(gid);
}

Result<std::string> expand_path(std::string_view path, const Account& user, std::string_view folder) {
  if (path.find('\0') != std::string_view::npos) return make_error(ErrorCode::invalid_argument, "a path with a zero byte");
  const std::string base(folder.empty() ? std::string_view(user.home) : folder);
  if (path.empty()) return clean_path(base);
  if (path.starts_with('/')) return clean_path(path);
  if (path == "~" || path.starts_with("~/")) return clean_path(user.home + "/" + std::string(path.substr(1)));
  if (path.starts_with('~')) return make_error(ErrorCode::invalid_argument, "cannot expand user-specific home dir: '" + as_utf8(path) + "'");
  return clean_path(base + "/" + std::string(path));
}

std::string clean_path(std::string_view path) {
  std::vector<std::string> kept;
  for (auto& part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") kept.push_back(std::move(part));
    else if (!kept.empty()) kept.pop_back();
  }
  std::string out;
  for (const auto& part : kept) out += "/" + part;
  return out.empty() ? "/" : out;
}

std::string parent_path(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == 0 || slash == std::string_view::npos ? "/" : std::string(path.substr(0, slash));
}

std::string base_name(std::string_view path) {
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return std::string(path);
  return slash + 1 == path.size() ? "/" : std::string(path.substr(slash + 1));
}

std::string as_utf8(std::string_view bytes) {
  if (is_utf8(bytes)) return std::string(bytes);
  std::string out;
  while (!bytes.empty()) {
    const auto length = character(bytes);
    out += length == 0 ? std::string("\xEF\xBF\xBD") : std::string(bytes.substr(0, length));
    bytes.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

}  // namespace harena::e2b
