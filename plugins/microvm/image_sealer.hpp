#pragma once
// ImageSealer: hashes snapshots behind the answers that they were taken with, one at a time, below everything
// else that the host does.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "sdk/base/result.hpp"

namespace harena::microvm {

class ImageSealer {
 public:
  /// `warn` is called on the sealer's thread.
  explicit ImageSealer(std::function<void(const std::string&)> warn) : warn_(std::move(warn)) {}
  /// Calls the one under way off; what isn't sealed stays as it is.
  ~ImageSealer();
  ImageSealer(const ImageSealer&) = delete;
  ImageSealer& operator=(const ImageSealer&) = delete;

  /// [any thread] A folder that is gone when its turn comes was a snapshot that was deleted. One that waits, is under way or has its
  /// digests isn't hashed again: they say what it was, not what it has become.
  void add(std::string folder);

 private:
  void work();
  void seal(const std::string& folder);
  bool going_on() const;

  const std::function<void(const std::string&)> warn_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> waiting_;
  std::string under_way_;
  bool ending_ = false;
  std::thread thread_;  // of the first add
};

}  // namespace harena::microvm
