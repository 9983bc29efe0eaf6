#include "plugins/container/weakening.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "sdk/base/text.hpp"
#include "sdk/support/mount_api.hpp"

namespace harena::container {
namespace {

const std::vector<std::string> kSwitches = {"privileged", "nested_user_namespaces", "docker"};
const std::vector<std::string> kAllowNames = {"privileged", "host_mounts", "devices", "nested_user_namespaces", "docker"};
constexpr std::string_view kCapabilityPrefix = "capability:";

Error bad(const std::string& name, const json& value, const std::string& right) {
  const std::string shown = value.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 80);
  return make_error(ErrorCode::invalid_argument, "parameter '" + name + "' is " + shown + "; right is " + right);
}

Error denied(const std::string& what, const std::string& setting) {
  return make_error(ErrorCode::permission_denied, what + ": this host doesn't allow it; its operator would by " + setting +
                                                      " in the container plugin's configuration");
}

/// Absolute, no empty, "." or ".." components, no NUL; "/" itself isn't one.
bool is_plain_path(const std::string& path) {
  if (path.size() < 2 || path[0] != '/' || path.find('\0') != std::string::npos) return false;
  const auto parts = split(std::string_view(path).substr(1), '/');
  return std::none_of(parts.begin(), parts.end(), [](const auto& part) { return part.empty() || part == "." || part == ".."; });
}

bool is_below(const std::string& path, const std::string& folder) {
  return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

bool is_ours(const std::string& target) {
  return is_below(target, "/proc") || is_below(target, "/sys") || is_below(target, "/dev");
}

Status parse_mount(const json& value, Weakening& out) {
  const std::string right = "an object of \"source\" (a folder of the host) and \"target\", both absolute paths without '.' and '..'";
  if (!value.is_object()) return bad("mounts", value, right);
  for (const auto& [key, unused] : value.items()) {
    if (key != "source" && key != "target" && key != "writable") return bad("mounts", value, right);
  }
  HostMount mount;
  for (auto [key, text] : {std::pair("source", &mount.source), std::pair("target", &mount.target)}) {
    if (!value.contains(key) || !value[key].is_string()) return bad("mounts", value, right);
    *text = value[key].get<std::string>();
    if (!is_plain_path(*text)) return bad(std::string("mounts.") + key, *text, "an absolute path without '.', '..' and '//'");
  }
  if (is_ours(mount.target)) return bad("mounts.target", mount.target, "a path that isn't below /proc, /sys or /dev");
  if (value.contains("writable")) {
    if (!value["writable"].is_boolean()) return bad("mounts.writable", value["writable"], "true or false");
    mount.writable = value["writable"].get<bool>();
  }
  out.mounts.push_back(std::move(mount));
  return {};
}

Status parse_mounts(const json& value, Weakening& out) {
  if (!value.is_array() || value.size() > kMostHostMounts) return bad("mounts", value, "a list of at most 32 mounts");
  for (const auto& each : value) HARENA_TRY_STATUS(parse_mount(each, out));
  return {};
}

std::string plain_capability(std::string_view given) {
  const std::string name = ascii_lower(given);
  return name.starts_with("cap_") ? name.substr(4) : name;
}

Status parse_capabilities(const json& value, Weakening& out) {
  if (!value.is_array()) return bad("capabilities", value, "a list of names such as \"net_raw\"");
  for (const auto& each : value) {
    if (!each.is_string()) return bad("capabilities", each, "a name such as \"net_raw\"");
    auto bit = capability_bit(each.get<std::string>());
    if (!bit.ok()) return std::move(bit).error().during("parameter 'capabilities'");
    out.capabilities.push_back(plain_capability(each.get<std::string>()));
  }
  return {};
}

/// `whole`: the same for whoever asked, from the host's root.
Result<UniqueFd> open_plainly(int at, const std::string& path, const std::string& whole, std::uint64_t resolve) {
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = resolve | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, at, path.c_str(), &how, sizeof how)));
  if (fd) return fd;
  const int error = errno;
  if (error == ELOOP) return make_error(ErrorCode::permission_denied, "parameter 'mounts': '" + whole + "' leads through a symlink; a folder's real path is right");
  if (error == ENOTDIR) return make_error(ErrorCode::invalid_argument, "parameter 'mounts': '" + whole + "' isn't a folder of the host");
  return errno_error(error, "open the host's folder '" + whole + "'");
}

/// The innermost root that the folder is below: what an operator says of a part holds for the part.
const MountRoot* root_of(const Allowances& allowances, const std::string& source) {
  const MountRoot* found = nullptr;
  for (const auto& root : allowances.mount_roots) {
    if (is_below(source, root.path) && (found == nullptr || root.path.size() > found->path.size())) found = &root;
  }
  return found;
}

/// What root inside writes belongs to root outside, set-uid bits included: they must mean nothing to anybody there either.
Status check_writable(const MountRoot& root, const HostMount& mount, int folder) {
  if (!mount.writable) return {};
  if (!root.writable) {
    return denied("parameter 'mounts.writable' of '" + mount.source + "'",
                  "\"host_mount_roots\": [{\"path\": \"" + root.path + "\", \"writable\": true}]");
  }
  struct statvfs info{};
  if (::fstatvfs(folder, &info) != 0) return errno_error(errno, "look at '" + mount.source + "'");
  if ((info.f_flag & ST_RDONLY) != 0) {
    return make_error(ErrorCode::failed_precondition, "parameter 'mounts.writable' of '" + mount.source + "': it is read-only on the host itself");
  }
  if ((info.f_flag & ST_NOSUID) != 0) return {};
  return make_error(ErrorCode::failed_precondition,
                    "parameter 'mounts.writable' of '" + mount.source + "': the host has it mounted without nosuid, so a set-uid program written "
                    "there by a sandbox would raise the host's users; its operator mends that by: mount --bind " + root.path + " " + root.path +
                    " && mount -o remount,bind,nosuid,nodev " + root.path);
}

Result<UniqueFd> open_source(const Allowances& allowances, const HostMount& mount) {
  const std::string& source = mount.source;
  if (const MountRoot* root = root_of(allowances, source)) {
    HARENA_TRY(UniqueFd folder, open_plainly(AT_FDCWD, root->path, root->path, 0));
    if (source != root->path) {
      HARENA_TRY(folder, open_plainly(folder.get(), source.substr(root->path.size() + 1), source, RESOLVE_BENEATH));
    }
    HARENA_TRY_STATUS(check_writable(*root, mount, folder.get()));
    return folder;
  }
  std::string roots;
  for (const auto& root : allowances.mount_roots) roots += (roots.empty() ? "" : ", ") + root.path;
  return denied("parameter 'mounts' with source '" + source + "' (allowed are folders below: " + (roots.empty() ? "none" : roots) + ")",
                "\"host_mount_roots\"");
}

Result<UniqueFd> clone_source(const Allowances& allowances, const HostMount& mount) {
  auto folder = open_source(allowances, mount);
  if (!folder.ok() && folder.error().code == ErrorCode::not_found) {
    return make_error(ErrorCode::invalid_argument, "parameter 'mounts': the host has no folder '" + mount.source + "'");
  }
  if (!folder.ok()) return folder;
  HARENA_TRY(UniqueFd clone, clone_mount(folder->get(), ""));
  HARENA_TRY_STATUS(restrict_mount(clone.get(), (mount.writable ? 0u : kMountReadOnly) | kMountNoSuid | kMountNoDev));
  return clone;
}

Result<MountRoot> parse_root(const json& entry) {
  MountRoot root;
  if (entry.is_string()) root.path = entry.get<std::string>();
  if (entry.is_object()) {
    root.path = entry.value("path", "");
    root.writable = entry.value("writable", false);
  }
  if (is_plain_path(root.path)) return root;
  return make_error(ErrorCode::invalid_argument, "host_mount_roots: " + entry.dump(-1, ' ', false, json::error_handler_t::replace) +
                                                     " isn't an absolute path without '.' and '..' (and not \"/\"), or {\"path\": ..., \"writable\": true}");
}

}  // namespace

Result<Allowances> Allowances::parse(const json& config) {
  Allowances allowances;
  for (const auto& name : config.value("allow", std::vector<std::string>{})) {
    const bool capability = name.starts_with(kCapabilityPrefix);
    if (capability) {
      auto bit = capability_bit(name.substr(kCapabilityPrefix.size()));
      if (!bit.ok()) return std::move(bit).error().during("allow");
      allowances.names.insert(std::string(kCapabilityPrefix) + plain_capability(name.substr(kCapabilityPrefix.size())));
      continue;
    }
    if (std::find(kAllowNames.begin(), kAllowNames.end(), name) == kAllowNames.end()) {
      return make_error(ErrorCode::invalid_argument, "allow: no option '" + name + "'" + suggestion(name, kAllowNames) +
                                                         "; known: privileged, host_mounts, devices, nested_user_namespaces, docker, capability:NAME");
    }
    allowances.names.insert(name);
  }
  for (const auto& entry : config.value("host_mount_roots", json::array())) {
    HARENA_TRY(auto root, parse_root(entry));
    allowances.mount_roots.push_back(std::move(root));
  }
  return allowances;
}

bool is_weakening(const std::string& name) {
  return name == "mounts" || name == "capabilities" || name == "devices" || std::find(kSwitches.begin(), kSwitches.end(), name) != kSwitches.end();
}

Status parse_weakening(const std::string& name, const json& value, Weakening& out) {
  if (name == "mounts") return parse_mounts(value, out);
  if (name == "capabilities") return parse_capabilities(value, out);
  if (name == "devices" && !value.is_array()) return bad(name, value, "a list of device paths");
  if (name != "devices" && !value.is_boolean()) return bad(name, value, "true or false");
  const bool wanted = name == "devices" ? !value.empty() : value.get<bool>();
  if (wanted) out.unsupported.push_back(name);
  return {};
}

Result<Granted> grant(const Allowances& allowances, const Weakening& wanted) {
  Granted granted;
  for (const auto& name : wanted.unsupported) {
    if (allowances.names.count(name) == 0) return denied("parameter '" + name + "'", "\"allow\": [\"" + name + "\"]");
    return make_error(ErrorCode::unimplemented, "parameter '" + name + "': the container backend can't do that yet, allowed or not; leave it out");
  }
  for (const auto& name : wanted.capabilities) {
    const std::string allowance = std::string(kCapabilityPrefix) + name;
    if (allowances.names.count(allowance) == 0) return denied("parameter 'capabilities' with " + name, "\"allow\": [\"" + allowance + "\"]");
    HARENA_TRY(auto bit, capability_bit(name));
    granted.capabilities |= bit;
    granted.uses.push_back("capability " + name);
  }
  for (const auto& mount : wanted.mounts) {
    if (allowances.names.count("host_mounts") == 0) return denied("parameter 'mounts'", "\"allow\": [\"host_mounts\"] and \"host_mount_roots\"");
    HARENA_TRY(UniqueFd clone, clone_source(allowances, mount));
    granted.mounts.push_back(std::move(clone));
    granted.uses.push_back("host folder " + mount.source + " at " + mount.target + (mount.writable ? ", writable" : ""));
  }
  return granted;
}

}  // namespace harena::container
