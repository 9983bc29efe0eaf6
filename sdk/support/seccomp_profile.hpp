#pragma once
// The system calls that a sandbox's processes may make: an allowlist with argument checks, one version for all architectures.
// plugins/container/README.md says what it refuses and why; change it with kSeccompProfileVersion.

#include "sdk/support/seccomp_program.hpp"

namespace harena {

/// Goes into describe and into every sandbox's state.
inline constexpr int kSeccompProfileVersion = 2;

/// Whose kernel it is. In a machine of its own a sandbox may make namespaces, mount in those that it owns (its own tree of mounts isn't
/// its: the kernel refuses that), join them and name them; in a container's kernel, which others share, none of this.
enum class SeccompScope { container, machine };

/// What isn't known answers ENOSYS (libraries fall back), what is known and refused EPERM. clone3's flags are in memory, where a
/// filter can't look, so in a container it "doesn't exist" and libraries use clone(2), whose flags are checked.
SeccompProgram seccomp_profile(SeccompScope scope);

}  // namespace harena
