#pragma once
// Tar archives as a stream of entries: ustar, pax, GNU (long names, sparse files), plain. Pure functions over a byte source, without any
// file system; the format itself is libarchive's.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sdk/base/result.hpp"

namespace harena::shim {

class TarSource {
 public:
  virtual ~TarSource() = default;
  /// The next bytes, valid until the next call; empty at the end.
  virtual Result<std::string_view> next() = 0;
};

enum class TarKind { file, folder, symlink, hard_link, other };

struct TarEntry {
  TarKind kind = TarKind::other;
  /// As it is in the archive: bytes, perhaps hostile.
  std::string path;
  /// Of a symlink or a hard link.
  std::string target;
  /// 07777.
  std::uint32_t mode = 0;
  std::int64_t uid = 0;
  std::int64_t gid = 0;
  std::int64_t mtime_s = 0;
  std::int64_t mtime_ns = 0;
  /// Logical, holes included.
  std::int64_t size = 0;
  std::vector<std::pair<std::string, std::string>> xattrs;
};

class TarSink {
 public:
  virtual ~TarSink() = default;
  virtual Status begin(const TarEntry& entry) = 0;
  /// Of a file, at growing offsets; what lies between is a hole.
  virtual Status data(std::int64_t offset, std::string_view bytes) = 0;
  virtual Status end(const TarEntry& entry) = 0;
};

/// Everything up to the archive's end marker, and the rest of the source (padding) after it. invalid_argument for what isn't a tar
/// archive or ends in the middle; errors of source and sink as they are.
Status read_tar(TarSource& source, TarSink& sink);

}  // namespace harena::shim
