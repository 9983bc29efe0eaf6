#pragma once
// Options that make a sandbox weaker: each needs the operator's allowance by name (the setting `allow`), and each use is told to the
// host as a warning and an event. Without the allowance: permission_denied, naming the option and the setting.
//
//   {"mounts": [{"source": "/srv/data/set-1", "target": "/data"}]}     allow: ["host_mounts"], host_mount_roots: ["/srv/data"]
//   {"capabilities": ["net_raw"]}                                      allow: ["capability:net_raw"]

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/support/capabilities.hpp"

namespace harena::container {

using json = nlohmann::json;

inline constexpr std::size_t kMostHostMounts = 32;

/// A folder of this machine, its owners mapped (root of the machine is root of the sandbox), nosuid and nodev in the sandbox; read-only
/// there unless asked otherwise.
struct HostMount {
  std::string source;
  std::string target;
  bool writable = false;
};

/// What was asked for, checked as far as that goes without the operator's settings.
struct Weakening {
  std::vector<HostMount> mounts;
  std::vector<std::string> capabilities;  // names in lower case, without cap_
  /// Of privileged, devices, nested_user_namespaces, docker: those that were asked for.
  std::vector<std::string> unsupported;
};

/// A folder below which folders may be mounted.
struct MountRoot {
  std::string path;
  bool writable = false;  // where the sandbox asks for it
};

/// What the operator allows.
struct Allowances {
  std::set<std::string> names;
  std::vector<MountRoot> mount_roots;

  /// From `allow` and `host_mount_roots`; invalid_argument names an entry that means nothing.
  static Result<Allowances> parse(const json& config);
};

struct Granted {
  std::vector<UniqueFd> mounts;  // detached, in the order of Weakening::mounts
  CapabilityMask capabilities = 0;
  std::vector<std::string> uses;  // sentences for the log: "capability net_raw", "host folder /srv/data at /data"
};

/// Whether `name` is a parameter of this kind; and its value into `out`. invalid_argument as parameters.hpp has it.
bool is_weakening(const std::string& name);
Status parse_weakening(const std::string& name, const json& value, Weakening& out);

/// permission_denied, or unimplemented for what is allowed but can't be done yet. Folders are opened through descriptors below a root of the
/// operator's, without following any symlink (openat2), and cloned: a change of the path later changes nothing.
Result<Granted> grant(const Allowances& allowances, const Weakening& wanted);

}  // namespace harena::container
