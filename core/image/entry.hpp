#pragma once
// FileEntry and EntryReader: a file tree as a sequence, whether it comes from a tar or from a folder.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/image/process.hpp"
#include "sdk/base/result.hpp"

namespace harena::image {

enum class EntryType : std::uint8_t { file, folder, symlink, hardlink, fifo, character_device, block_device, socket };

struct FileEntry {
  std::string path;    ///< as found: any bytes but NUL
  EntryType type = EntryType::file;
  std::uint32_t mode = 0;  ///< permission bits, 07777
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::int64_t mtime_s = 0;
  std::uint32_t mtime_ns = 0;
  std::int64_t size = 0;       ///< of a file
  std::string link;            ///< target of a symlink; path of the other name of a hardlink
  std::uint64_t device = 0;    ///< of a device node, as dev_t
  std::vector<std::pair<std::string, std::string>> xattrs;
};

/// One pass, one thread.
class EntryReader {
 public:
  virtual ~EntryReader() = default;
  /// False at the end. data_loss for a source that is cut off or damaged.
  virtual Result<bool> next(FileEntry& entry) = 0;
  /// The content of the entry that next() gave last, written to an empty file; holes stay holes.
  virtual Status copy_content(int borrow_fd, const Checkpoint& checkpoint) = 0;
};

}  // namespace harena::image
