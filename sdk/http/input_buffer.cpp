#include "sdk/http/input_buffer.hpp"

#include <algorithm>
#include <cstring>

namespace harena::http {

void InputBuffer::consume(std::size_t count) {
  begin_ += count;
  if (begin_ == end_) begin_ = end_ = 0;
}

std::span<std::byte> InputBuffer::prepare() {
  if (end_ == storage_.size() && begin_ > 0) {
    std::memmove(storage_.data(), storage_.data() + begin_, size());
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == storage_.size()) {
    storage_.resize(std::min(limit_, std::max(kFirstBytes, storage_.size() * 2)));
  }
  return std::span(storage_).subspan(end_);
}

void InputBuffer::shrink() {
  if (!empty() || storage_.size() <= kFirstBytes) return;
  std::vector<std::byte>().swap(storage_);
}

}  // namespace harena::http
