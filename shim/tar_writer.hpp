#pragma once
// A tar archive in the pax format, entry by entry, to a sink of bytes. The format itself is libarchive's.

#include <functional>
#include <memory>

#include "shim/tar_reader.hpp"

struct archive;

namespace harena::shim {

/// A part of a file that isn't a hole.
struct TarRegion {
  std::int64_t offset = 0;
  std::int64_t length = 0;
};

class TarWriter {
 public:
  /// Gets blocks of the archive; an error ends it.
  using Sink = std::function<Status(std::string_view bytes)>;
  static Result<std::unique_ptr<TarWriter>> create(Sink sink);
  ~TarWriter();
  TarWriter(const TarWriter&) = delete;
  TarWriter& operator=(const TarWriter&) = delete;

  /// `file_type`: S_IFMT bits. `regions` of a file with holes, in order; nullopt: it has none.
  Status begin(const TarEntry& entry, std::uint32_t file_type, const std::optional<std::vector<TarRegion>>& regions);
  /// The next bytes of the file, in order; exactly entry.size bytes together with the holes.
  Status data(std::string_view bytes);
  Status hole(std::int64_t length);
  /// The end marker.
  Status finish();

 private:
  TarWriter() = default;
  Status failed(const char* what) const;

  Sink sink_;
  Status sink_status_;
  archive* writer_ = nullptr;
};

}  // namespace harena::shim
