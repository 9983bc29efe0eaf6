#pragma once
// What a machine has written over the frozen RAM file that it maps privately: found in its page table, kept in a file, given to others.
//
// A page of a private file mapping that was written is anonymous: present or swapped, and not of a file (pagemap, Documentation/admin-guide/
// mm/pagemap.rst: bits 63, 62 and 61). Nobody has to track writes, and what is found is everything since the mapping was made. A delta
// always is one against the RAM file itself, never against another delta: there is no chain to walk.
//
// The file: "HARENARD", u32 version 1, u32 page size, u64 RAM bytes, u64 count; the indices (u64, ascending); zeros up to a page; the pages.
// Little endian, no paths: it can be used on another machine.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/base/result.hpp"

namespace harena::microvm {

inline constexpr std::int64_t kPageBytes = 4096;

/// Pages of a RAM by index.
using PageList = std::vector<std::uint64_t>;

/// Where `file` (device and inode of the RAM file) is mapped in a process: not_found when it isn't, or not as one piece of `bytes`.
Result<std::uint64_t> find_ram_mapping(pid_t process, const std::string& file, std::int64_t bytes);
/// The pages that the process, which stands still, has of its own; ascending.
Result<PageList> own_pages(pid_t process, std::uint64_t address, std::int64_t bytes);

/// Writes `pages` of the process into `path` (made, mode 0600). On failure nothing of it stays.
Status write_delta(const std::string& path, pid_t process, std::uint64_t address, std::int64_t ram_bytes, const PageList& pages);

/// The same from a file as long as the RAM whose holes are what didn't change (Firecracker's diff snapshots). `path` is made, mode 0600.
Status delta_of_changes(const std::string& path, const std::string& changes, std::int64_t ram_bytes);

struct DeltaSize {
  std::int64_t ram_bytes = 0;
  std::int64_t pages = 0;
};
/// data_loss for what write_delta can't have made.
Result<DeltaSize> delta_size(const std::string& path);
/// Writes the delta's pages into the memory of a process that stands still. data_loss, failed_precondition (another size of RAM).
Status apply_delta(const std::string& path, pid_t process, std::uint64_t address, std::int64_t ram_bytes);
/// The same into a RAM file: what was a delta is part of the file then.
Status merge_delta(const std::string& path, const std::string& ram_file);

}  // namespace harena::microvm
