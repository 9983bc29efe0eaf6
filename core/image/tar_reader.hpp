#pragma once
// TarReader: the entries of a tar file (ustar, pax, GNU), plain or compressed with gzip, bzip2, xz or zstd, streamed.
// It hashes what it decompresses, so that the content can be compared with an OCI diff_id.

#include <memory>
#include <string>

#include "core/image/entry.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::image {

class TarReader final : public EntryReader {
 public:
  /// Takes a descriptor at the tar's start. `name` is for messages.
  static Result<std::unique_ptr<TarReader>> open(UniqueFd file, std::string name);
  ~TarReader() override;

  Result<bool> next(FileEntry& entry) override;
  Status copy_content(int borrow_fd, const Checkpoint& checkpoint) override;

  /// Reads what follows the last entry and gives "sha256:..." of the whole uncompressed tar.
  Result<std::string> finish(const Checkpoint& checkpoint);
  /// Bytes of the (compressed) file read so far.
  std::int64_t bytes_read() const;

 private:
  struct State;
  explicit TarReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace harena::image
