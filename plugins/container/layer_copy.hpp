#pragma once
// One layer laid onto another as overlayfs would show them: how layers are copied (onto an empty folder) and merged.
//
// The trees were written by an enemy: no link is followed, depth needs no descriptors and no stack, names are never joined to
// a path. Nobody may change them meanwhile (a frozen layer, or a sandbox that stands still).
// Kept: owners, modes, times, extended attributes, hard links, holes, devices (a whiteout is one), sockets and fifos.
// There are layers below the two: whiteouts and opaque marks stay.

#include <cstdint>
#include <functional>

#include "plugins/container/entry_attributes.hpp"
#include "sdk/base/result.hpp"

namespace harena::container {

struct LayerCopy {
  IdShift shift;
  /// Regular files get another name instead of a copy: only within one file system, only without a shift, only of what nobody
  /// writes to any more.
  bool link = false;
  /// Asked at every entry; a failure ends the copy.
  std::function<Status()> check = [] { return Status(); };
};

struct CopiedLayer {
  std::int64_t bytes = 0;    ///< of file data that was copied; what shares its blocks (reflink, link) isn't counted
  std::int64_t entries = 0;
};

/// `links` is an empty folder on the file system of `onto`, in which files with several names are kept while the copy runs; it is
/// empty again at the end. After a failure `onto` is half-made.
Result<CopiedLayer> lay_onto(int layer, int onto, int links, const LayerCopy& how);

}  // namespace harena::container
