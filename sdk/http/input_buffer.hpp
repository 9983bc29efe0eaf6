#pragma once
// The bytes read from a connection and not yet understood; bounded, and small while a connection idles.

#include <cstddef>
#include <span>
#include <vector>

namespace harena::http {

class InputBuffer {
 public:
  /// Never holds more than `limit` bytes.
  explicit InputBuffer(std::size_t limit) : limit_(limit) {}

  std::span<const std::byte> data() const { return std::span(storage_).subspan(begin_, end_ - begin_); }
  bool empty() const { return begin_ == end_; }
  std::size_t size() const { return end_ - begin_; }
  bool full() const { return size() >= limit_; }
  void consume(std::size_t count);

  /// Room to read into, at least one byte unless full(): grows by doubling from kFirstBytes to the limit.
  std::span<std::byte> prepare();
  void commit(std::size_t count) { end_ += count; }
  /// Gives memory over kFirstBytes back if nothing is held.
  void shrink();

 private:
  static constexpr std::size_t kFirstBytes = 4 * 1024;
  std::size_t limit_;
  std::vector<std::byte> storage_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace harena::http
