#pragma once
// Where the sandbox's changes and the platform's records of its commands live: the machine's writable disk, or memory.
//
//   /run/disk/upper, work    of the overlay: the sandbox's
//   /run/disk/session        the shim's folder. Never seen by the sandbox
//
// Owners on the disk are those of the sandbox's user namespace (kDefaultIdBase ..), the same in every guest.

#include <cstdint>
#include <string>

#include "sdk/base/result.hpp"

namespace harena::guest {

inline constexpr const char* kDiskFolder = "/run/disk";
inline constexpr const char* kSessionFolder = "/run/disk/session";

/// Mounts it there. `device` empty: a tmpfs of `memory_bytes` (0: a quarter of the memory). A disk without a file system that can be mounted
/// is failed_precondition, an infrastructure error.
Status mount_writable_disk(const std::string& device, std::uint64_t memory_bytes);

}  // namespace harena::guest
