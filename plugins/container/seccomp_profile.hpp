#pragma once
// The system calls that a container's processes may make: an allowlist with argument checks, one version for all
// architectures. README.md says what it refuses and why; change it with kSeccompProfileVersion.

#include "sdk/support/seccomp_program.hpp"

namespace harena::container {

/// Goes into describe and into every sandbox's state.
inline constexpr int kSeccompProfileVersion = 2;

/// What isn't known answers ENOSYS (libraries fall back), what is known and refused EPERM. clone3's flags are in memory, where a
/// filter can't look, so it "doesn't exist" and libraries use clone(2), whose flags are checked.
SeccompProgram seccomp_profile();

}  // namespace harena::container
