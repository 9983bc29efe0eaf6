#pragma once
// Shelf: the ready sandboxes of one pool as this process knows them. Only a hint of where to look: whose a sandbox becomes is decided by
// the API, which changes its labels for one claim alone.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace harena::e2b {

/// Thread-safe.
class Shelf {
 public:
  /// The oldest; it isn't on the shelf any more.
  std::optional<std::string> take();
  /// One that is ready now; not twice.
  void put(const std::string& id);
  /// What a list showed to be ready: others go, new ones come. What was taken since `list_began` (a value of taken()) stays away, since
  /// the list may be older than the taking.
  void replace(const std::vector<std::string>& ready, std::uint64_t list_began);
  /// How many were taken so far.
  std::uint64_t taken() const;
  std::size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::deque<std::string> ids_;
  std::vector<std::string> taken_;  ///< the latest kRemembered, oldest first
  std::uint64_t count_ = 0;
};

}  // namespace harena::e2b
