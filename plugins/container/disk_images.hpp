#pragma once
// File systems of a size: the disk of a sandbox that was asked to have a limit of its own.
//
//   auto image = images.make(1 << 30, 65536, folder);     // a descriptor; mount it through a loop device
//
// An image is a sparse ext4 in a file without a name: whoever dies in between, the kernel frees it with its last user. For each size
// one template is made by mke2fs (50 ms, at its first use) and kept; a copy of what is in it (110 KiB) takes 0.1 ms.

#include <cstdint>
#include <list>
#include <mutex>
#include <string>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::container {

/// Thread-safe.
class DiskImages {
 public:
  /// `mke2fs` empty: looked for in the usual folders.
  explicit DiskImages(std::string mke2fs = {});

  /// An image whose file system has `bytes` for files (within 1 %) and `inodes` of them; 0: one for 16 KiB, at least 1024.
  /// Its blocks are on the file system of `folder`. failed_precondition without mke2fs (e2fsprogs).
  Result<UniqueFd> make(std::int64_t bytes, std::int64_t inodes, const std::string& folder);
  /// The same where the file system can make a file that never had a name, so that a death at any time leaves nothing; unimplemented elsewhere.
  Result<UniqueFd> make_nameless(std::int64_t bytes, std::int64_t inodes, const std::string& folder);
  bool available() const { return !mke2fs_.empty(); }

 private:
  struct Template {
    std::int64_t bytes;
    std::int64_t inodes;
    UniqueFd file;
  };
  Result<int> template_for(std::int64_t bytes, std::int64_t inodes, const std::string& folder);

  const std::string mke2fs_;
  std::mutex mutex_;
  std::list<Template> templates_;  // the last used first
};

}  // namespace harena::container
