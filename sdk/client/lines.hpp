#pragma once
// Newline-delimited JSON: bytes in, whole lines out.

#include <functional>
#include <string>
#include <string_view>

#include "sdk/base/result.hpp"

namespace harena::client {

/// Linear in the bytes, however they are cut. Lines over kMaxLineBytes are `data_loss`: nothing of the API is that long,
/// and a line without an end must not fill memory.
class LineSplitter {
 public:
  static constexpr std::size_t kMaxLineBytes = 16 * 1024 * 1024;

  /// Calls `on_line` for each line that `bytes` completes, without its newline; empty lines are skipped. Stops at the
  /// first failure and returns it.
  Status feed(std::string_view bytes, const std::function<Status(std::string_view)>& on_line);

 private:
  std::string rest_;
};

}  // namespace harena::client
