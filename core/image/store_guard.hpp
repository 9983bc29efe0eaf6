#pragma once
// StoreGuard: keeps a sweep from removing the blobs that a running import has stored but not yet named.

#include <shared_mutex>

namespace harena::image {

struct StoreGuard {
  std::shared_mutex mutex;  ///< imports hold it shared, a sweep alone
};

}  // namespace harena::image
