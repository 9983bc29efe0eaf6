#pragma once
// Owner, mode, times and extended attributes of one entry of a layer, carried to its copy.

#include <cstdint>
#include <string>

#include "sdk/base/result.hpp"

namespace harena::container {

/// Ids `from`.. are written as `to`.. ; an id outside of the range stays as it is. Equal: nothing is changed.
struct IdShift {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t of(std::uint32_t id) const;
  bool none() const { return from == to; }
};

/// What overlayfs marks a folder with that hides all that lies below it.
inline constexpr const char* kOpaque = "trusted.overlay.opaque";

bool is_opaque(int folder);
Status set_opaque(int folder);

/// From from_folder/name to to_folder/name (no link is followed; "." is the folder itself). Extended attributes of the copy
/// that the original hasn't got are removed, but for the mark of an opaque folder.
/// Ids in ACLs and in file capabilities are shifted too.
Status copy_attributes(int from_folder, int to_folder, const std::string& name, const IdShift& shift);

}  // namespace harena::container
