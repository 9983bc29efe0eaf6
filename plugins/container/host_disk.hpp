#pragma once
// The block device behind a folder, for limits of I/O.

#include <string>

#include "sdk/base/result.hpp"
#include "sdk/support/cgroup_layout.hpp"

namespace harena::container {

/// The whole disk: I/O of a partition can't be limited.
struct HostDisk {
  unsigned major = 0;
  unsigned minor = 0;
  std::string name;  // "vda"
};

/// failed_precondition where no single block device is behind the folder (btrfs, overlayfs, NFS, tmpfs).
Result<HostDisk> disk_of_folder(const std::string& folder);
/// Why weights of I/O mean nothing on this disk: it needs the scheduler bfq, or io.cost. Empty when they do.
std::string why_no_io_weight(const HostDisk& disk, const CgroupLayout& layout);

/// invalid_argument names the CPU of `list` (as in cpuset.cpus) that isn't.
Status check_cpus_online(const std::string& list);

}  // namespace harena::container
