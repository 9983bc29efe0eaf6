#pragma once
// ImportProgress: ends a long import when its caller wants that, and tells how far it is, at most five times a second:
// {"step": "unpack, layer 2 of 5", "done": 1, "total": 2} (bytes; total null when it isn't known), as the API passes it on.

#include <string>

#include "core/contracts/call.hpp"
#include "core/image/process.hpp"
#include "sdk/base/clock.hpp"

namespace harena::image {

/// One thread.
class ImportProgress {
 public:
  ImportProgress(const CallContext& call, const Clock& clock) : call_(call), clock_(clock) {}

  /// cancelled, deadline_exceeded, or ok.
  Status check() const;
  void set_layer(std::size_t layer, std::size_t layers);
  /// Told at once.
  void begin(std::string stage, std::int64_t total_bytes);
  void done(std::int64_t bytes);

 private:
  void tell();
  const CallContext& call_;
  const Clock& clock_;
  std::string stage_;
  std::size_t layer_ = 0;
  std::size_t layers_ = 0;
  std::int64_t done_bytes_ = 0;
  std::int64_t total_bytes_ = 0;
  std::int64_t told_ns_ = 0;
};

}  // namespace harena::image
