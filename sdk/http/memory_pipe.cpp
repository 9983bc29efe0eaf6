#include "sdk/http/memory_pipe.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "sdk/http/async_event.hpp"

namespace harena::http {
namespace {

// One direction: a ring of bytes.
struct Channel {
  explicit Channel(std::size_t capacity) : ring(std::max<std::size_t>(capacity, 1)) {}

  std::size_t put(std::span<const std::byte> bytes) {
    std::size_t count = 0;
    while (count < bytes.size() && size < ring.size()) {
      const auto at = (begin + size) % ring.size();
      const auto room = std::min(ring.size() - size, ring.size() - at);
      const auto step = std::min(room, bytes.size() - count);
      std::memcpy(ring.data() + at, bytes.data() + count, step);
      size += step;
      count += step;
    }
    return count;
  }

  std::size_t take(std::span<std::byte> into) {
    const auto count = std::min({into.size(), size, ring.size() - begin});
    std::memcpy(into.data(), ring.data() + begin, count);
    begin = (begin + count) % ring.size();
    size -= count;
    return count;
  }

  std::vector<std::byte> ring;
  std::size_t begin = 0;
  std::size_t size = 0;
  bool writer_done = false;
  bool broken = false;
  AsyncEvent changed;
};

class MemoryEnd final : public ByteStream {
 public:
  MemoryEnd(std::shared_ptr<Channel> in, std::shared_ptr<Channel> out)
      : in_(std::move(in)), out_(std::move(out)) {}
  ~MemoryEnd() override { close(); }

  Task<Result<std::size_t>> read(std::span<std::byte> into) override {
    while (true) {
      const auto seen = in_->changed.generation();
      if (closed_) co_return make_error(ErrorCode::unavailable, "reading from a closed stream");
      if (in_->size > 0) break;
      if (in_->writer_done) co_return std::size_t{0};
      if (in_->broken) co_return make_error(ErrorCode::unavailable, "the peer closed the stream");
      co_await in_->changed.wait_past(seen);
    }
    const auto count = in_->take(into);
    in_->changed.notify();
    co_return count;
  }

  Task<Status> write(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const auto seen = out_->changed.generation();
      if (closed_ || out_->writer_done) {
        co_return make_error(ErrorCode::unavailable, "writing to a stream after its end");
      }
      if (out_->broken) co_return make_error(ErrorCode::unavailable, "the peer closed the stream");
      const auto count = out_->put(bytes);
      bytes = bytes.subspan(count);
      if (count > 0) {
        out_->changed.notify();
      } else {
        co_await out_->changed.wait_past(seen);
      }
    }
    co_return ok_status();
  }

  Task<Status> shutdown_write() override {
    out_->writer_done = true;
    out_->changed.notify();
    co_return ok_status();
  }

  void close() override {
    if (closed_) return;
    closed_ = true;
    in_->broken = true;
    out_->writer_done = true;
    in_->changed.notify();
    out_->changed.notify();
  }

 private:
  std::shared_ptr<Channel> in_;
  std::shared_ptr<Channel> out_;
  bool closed_ = false;
};

}  // namespace

std::pair<std::unique_ptr<ByteStream>, std::unique_ptr<ByteStream>> memory_pipe(std::size_t capacity) {
  auto there = std::make_shared<Channel>(capacity);
  auto back = std::make_shared<Channel>(capacity);
  return {std::make_unique<MemoryEnd>(there, back), std::make_unique<MemoryEnd>(back, there)};
}

}  // namespace harena::http
