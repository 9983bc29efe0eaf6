#pragma once
// The AppArmor profile of containers: a second line behind namespaces, capabilities and the system call filter, for kernels that have it.
// Made here as text, loaded with apparmor_parser(8), and put on every command at its exec (the shim writes attr/exec).

#include <string>

#include "sdk/base/result.hpp"

namespace harena::container {

/// What the operator says in the setting `apparmor`.
enum class ApparmorMode {
  automatic,  // where the kernel has it and the profile can be loaded; doctor warns otherwise
  required,   // no sandbox without
  off,
};
/// "auto", "required", "off".
Result<ApparmorMode> apparmor_mode(const std::string& text);

/// harena-INSTANCE: daemons of one machine don't overwrite each other's.
std::string apparmor_profile_name(const std::string& instance);
/// The profile: everything that a sandbox does by itself, no mounts, none of the files that root_tree.hpp masks, no tracing and no signals
/// beyond the sandboxes of the same instance (namespaces keep those apart) and the platform.
std::string apparmor_profile_text(const std::string& name);

/// Whether this kernel enforces profiles. `root` is a prefix for tests.
bool kernel_has_apparmor(const std::string& root = "");
/// Loads or replaces it. failed_precondition with what the parser said, or that it isn't installed. Blocks for some 100 ms.
Status load_apparmor_profile(const std::string& name);

/// The name of the profile that sandboxes get, loaded; empty when the kernel has none or it is off. failed_precondition when it can't be loaded:
/// the caller goes on without in automatic mode, with a warning.
Result<std::string> prepare_apparmor(ApparmorMode mode, const std::string& instance);

}  // namespace harena::container
