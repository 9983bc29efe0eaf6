#pragma once
// ImageStore: content-addressed blobs and the tags that name manifests; the C++ face of harena.image-store/1.

#include <string>
#include <utility>
#include <vector>

#include "core/contracts/call.hpp"
#include "sdk/base/result.hpp"

namespace harena {

struct StoredBlob {
  std::string digest;  ///< "sha256:" + 64 hexadecimal digits
  std::int64_t size = 0;
};

struct OpenedBlob {
  std::string path;  ///< absolute, a regular read-only file, stays until removed
  std::int64_t size = 0;
};

struct TagEntry {
  std::string reference;
  std::string digest;
};

/// Thread-safe, blocking. Errors as in sdk/abi/image_store.h.
class ImageStore {
 public:
  virtual ~ImageStore() = default;
  /// Reads `borrowed_fd` to its end. Durable and atomic; idempotent.
  virtual Result<StoredBlob> put(const CallContext& call, const std::string& expected_digest, int borrowed_fd) = 0;
  virtual Result<OpenedBlob> open(const CallContext& call, const std::string& digest) = 0;
  virtual Result<std::vector<TagEntry>> list(const CallContext& call, const std::string& prefix,
                                             const std::string& cursor, std::int64_t limit) = 0;
  virtual Result<std::string> resolve(const CallContext& call, const std::string& reference) = 0;
  virtual Status tag(const CallContext& call, const std::string& reference, const std::string& digest) = 0;
  virtual Status remove(const CallContext& call, const std::string& reference_or_digest) = 0;
  virtual Result<std::vector<StoredBlob>> list_blobs(const CallContext& call, const std::string& cursor,
                                                     std::int64_t limit) = 0;
  /// The digests of damaged blobs.
  virtual Result<std::vector<std::string>> check(const CallContext& call, const std::string& digest) = 0;
};

}  // namespace harena
