#pragma once
// A user namespace in which nobody lives: nothing but a mapping of ids, for idmap_mount.
//
// What one sandbox wrote has that sandbox's ids on the disk; another one that is to see it has a range of its own. A mount
// that maps the one to the other costs 0.1 ms, whatever the tree holds.

#include <cstdint>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena {

/// Ids `from`.. on the disk appear as `to`.. ; users and groups.
struct IdMapping {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t count = 0;
};

/// Neither the `from` nor the `to` ranges may overlap (the kernel refuses it: invalid_argument). Needs root; call from a
/// single-threaded process only. It lives as long as the descriptor or a mount that uses it.
Result<UniqueFd> id_map_namespace(const std::vector<IdMapping>& mappings);

}  // namespace harena
