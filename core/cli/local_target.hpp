#pragma once
// Where a single file goes that the user named: a name to be replaced, or something that takes bytes.

#include <string>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::cli {

struct LocalTarget {
  /// Behind all links: those that the user names are followed.
  std::string path;
  /// Open for writing if it is a device or a FIFO, as /dev/stdout may be: it is written to, as cp(1) does. Replacing it would
  /// destroy it.
  UniqueFd stream;
};

/// failed_precondition for a socket, and for a link that leads nowhere. Waits for a FIFO's reader.
Result<LocalTarget> local_target(const std::string& named);

}  // namespace harena::cli
