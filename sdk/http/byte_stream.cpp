#include "sdk/http/byte_stream.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace harena::http {
namespace asio = boost::asio;
namespace {

constexpr std::size_t kBlockBytes = 64 * 1024;

class PrefixedStream final : public ByteStream {
 public:
  PrefixedStream(std::unique_ptr<ByteStream> stream, std::span<const std::byte> prefix)
      : stream_(std::move(stream)), prefix_(prefix.begin(), prefix.end()) {}

  Task<Result<std::size_t>> read(std::span<std::byte> into) override {
    if (offset_ == prefix_.size()) return stream_->read(into);
    return read_prefix(into);
  }
  Task<Status> write(std::span<const std::byte> bytes) override { return stream_->write(bytes); }
  Task<Status> write_parts(std::span<const std::span<const std::byte>> parts) override {
    return stream_->write_parts(parts);
  }
  Task<Status> shutdown_write() override { return stream_->shutdown_write(); }
  void close() override { stream_->close(); }
  int poll_fd() const override { return stream_->poll_fd(); }
  std::string peer() const override { return stream_->peer(); }

 private:
  Task<Result<std::size_t>> read_prefix(std::span<std::byte> into) {
    const auto count = std::min(into.size(), prefix_.size() - offset_);
    std::memcpy(into.data(), prefix_.data() + offset_, count);
    offset_ += count;
    if (offset_ == prefix_.size()) {
      std::vector<std::byte>().swap(prefix_);
      offset_ = 0;
    }
    co_return count;
  }

  std::unique_ptr<ByteStream> stream_;
  std::vector<std::byte> prefix_;
  std::size_t offset_ = 0;
};

// One direction of pump(): an error ends both, since what was lost can't be made good.
Task<void> pump_one_way(ByteStream& from, ByteStream& to, Status& outcome) {
  auto copied = co_await copy_until_eof(from, to);
  if (copied.ok()) co_return;
  if (outcome.ok()) outcome = std::move(copied).error();
  from.close();
  to.close();
}

}  // namespace

Task<Status> ByteStream::write_parts(std::span<const std::span<const std::byte>> parts) {
  for (const auto part : parts) {
    if (part.empty()) continue;
    HARENA_CO_TRY_STATUS(co_await write(part));
  }
  co_return ok_status();
}

std::unique_ptr<ByteStream> with_prefix(std::unique_ptr<ByteStream> stream, std::span<const std::byte> prefix) {
  if (prefix.empty()) return stream;
  return std::make_unique<PrefixedStream>(std::move(stream), prefix);
}

Task<Result<std::uint64_t>> copy_until_eof(ByteStream& from, ByteStream& to) {
  std::vector<std::byte> block(kBlockBytes);
  std::uint64_t total = 0;
  while (true) {
    HARENA_CO_TRY(const std::size_t count, co_await from.read(block));
    if (count == 0) break;
    HARENA_CO_TRY_STATUS(co_await to.write(std::span(block).first(count)));
    total += count;
  }
  HARENA_CO_TRY_STATUS(co_await to.shutdown_write());
  co_return total;
}

Task<Status> pump(ByteStream& a, ByteStream& b) {
  const auto executor = co_await asio::this_coro::executor;
  Status outcome;
  auto [order, first, second] =
      co_await asio::experimental::make_parallel_group(
          asio::co_spawn(executor, pump_one_way(a, b, outcome), asio::deferred),
          asio::co_spawn(executor, pump_one_way(b, a, outcome), asio::deferred))
          .async_wait(asio::experimental::wait_for_one_error(), asio::use_awaitable);
  a.close();
  b.close();
  if (first) std::rethrow_exception(first);
  if (second) std::rethrow_exception(second);
  co_return std::move(outcome);
}

}  // namespace harena::http
