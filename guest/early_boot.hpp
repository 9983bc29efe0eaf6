#pragma once
// The first steps of PID 1 in the initramfs: the file systems that it needs itself, its limits, and a root that can be pivoted away from.

#include "sdk/base/result.hpp"

namespace harena::guest {

/// /proc, /sys, /dev, /run and the cgroup tree. Once.
Status mount_own_filesystems();

/// Makes the initramfs's root a mount of its own: the kernel refuses pivot_root(2) away from the first root file system, and a sandbox
/// is to have none of it (chroot alone is no wall for a root user).
Status make_root_pivotable();

/// Not to be killed for memory, not to be traced, many descriptors. What fails here isn't needed to serve.
void protect_self();

/// Closes doors of the kernel that nobody here needs from now on: module loading, kexec, unprivileged eBPF, kernel addresses and logs.
void close_kernel_doors();

}  // namespace harena::guest
