#include "sdk/http/byte_stream.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

namespace harena::http {
namespace asio = boost::asio;
namespace {

constexpr std::size_t kBlockBytes = 64 * 1024;
/// Parts up to this size together are copied into one.
constexpr std::size_t kMaxJoinedBytes = 16 * 1024;

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
  void abort() override { stream_->abort(); }
  std::size_t unsent() const override { return stream_->unsent(); }
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

// A side whose other side is gone may take what was sent to it at its own pace: it is closed once it has taken nothing for so long.
constexpr std::chrono::seconds kPartingStall{60};
// And once it has taken all of it, it may still be sending: for so long it is listened to.
constexpr std::chrono::seconds kParting{2};
constexpr std::chrono::milliseconds kPartingStep{10};

struct Pump {
  Status outcome;
  ByteStream* broken = nullptr;  ///< can't be read any more
  ByteStream* deaf = nullptr;    ///< its peer is gone, and it may be in the middle of sending
  void failed(Error error) {
    if (outcome.ok()) outcome = std::move(error);
  }
};

Task<void> pump_one_way(ByteStream& from, ByteStream& to, Pump& pump) {
  std::vector<std::byte> block(kBlockBytes);
  while (true) {
    auto count = co_await from.read(block);
    if (!count.ok()) {
      if (pump.broken == nullptr) pump.broken = &from;  // else it was cancelled, for the other one broke
      co_return pump.failed(std::move(count).error());
    }
    if (*count == 0) break;
    auto written = co_await to.write(std::span<const std::byte>(block).first(*count));
    if (!written.ok()) {
      if (pump.deaf == nullptr) pump.deaf = &from;
      co_return pump.failed(std::move(written).error());
    }
  }
  auto ended = co_await to.shutdown_write();
  if (!ended.ok()) pump.failed(std::move(ended).error());
}

// The end of one direction ends the other only if that one has nobody to write to.
struct UntilBroken {
  const Pump& pump;
  template <class... Results>
  asio::cancellation_type operator()(const Results&...) const noexcept {
    return pump.broken != nullptr ? asio::cancellation_type::all : asio::cancellation_type::none;
  }
};

// Whether a stream's peer still takes what was sent to it.
class Taking {
 public:
  explicit Taking(const ByteStream& stream) : stream_(stream) {}
  bool goes_on() {
    const auto now = std::chrono::steady_clock::now();
    const auto left = stream_.unsent();
    if (left != left_) since_ = now;
    left_ = left;
    return left > 0 && now - since_ < kPartingStall;
  }

 private:
  const ByteStream& stream_;
  std::size_t left_ = 0;
  std::chrono::steady_clock::time_point since_{};
};

// A reset overtakes what is on its way, so that is waited for; no event tells of it.
Task<void> break_off(ByteStream& stream) {
  Taking taking(stream);
  while (taking.goes_on()) co_await sleep_for(kPartingStep);
  stream.abort();
}

Task<Result<bool>> read_to_end(ByteStream& stream) {
  std::vector<std::byte> block(kBlockBytes);
  while (true) {
    HARENA_CO_TRY(const std::size_t count, co_await stream.read(block));
    if (count == 0) co_return true;
  }
}

// Closing with unread bytes would make the kernel reset the connection, and the peer lose what it hasn't read yet.
Task<void> part_from(ByteStream& stream) {
  Taking taking(stream);
  while (true) {
    const auto heard = co_await with_timeout(read_to_end(stream), kParting, "parting");
    const bool still_sending = !heard.ok() && heard.error().code == ErrorCode::deadline_exceeded;
    if (!still_sending || !taking.goes_on()) co_return;
  }
}

}  // namespace

// Small ones as one piece: over TLS each write is a record and a packet of its own.
Task<Status> ByteStream::write_parts(std::span<const std::span<const std::byte>> parts) {
  std::vector<std::byte> joined;
  std::size_t total = 0;
  for (const auto part : parts) total += part.size();
  if (total <= kMaxJoinedBytes) {
    for (const auto part : parts) joined.insert(joined.end(), part.begin(), part.end());
    if (joined.empty()) co_return ok_status();
    co_return co_await write(joined);
  }
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

namespace {

// Whoever cancels a pump cuts its connections: neither side may take that for an end.
struct CutUnlessEnded {
  ByteStream& a;
  ByteStream& b;
  bool ended = false;
  ~CutUnlessEnded() {
    ended ? a.close() : a.abort();
    ended ? b.close() : b.abort();
  }
};

}  // namespace

Task<Status> pump(ByteStream& a, ByteStream& b) {
  CutUnlessEnded cut{a, b};
  const auto executor = co_await asio::this_coro::executor;
  Pump state;
  UntilBroken until_broken{state};
  auto [order, first, second] =
      co_await asio::experimental::make_parallel_group(
          asio::co_spawn(executor, pump_one_way(a, b, state), asio::deferred),
          asio::co_spawn(executor, pump_one_way(b, a, state), asio::deferred))
          .async_wait(until_broken, asio::use_awaitable);
  if (first || second) std::rethrow_exception(first ? first : second);
  if (state.broken != nullptr) {
    co_await break_off(state.broken == &a ? b : a);
  } else if (state.deaf != nullptr) {
    co_await part_from(*state.deaf);
  }
  cut.ended = true;
  co_return std::move(state.outcome);
}

}  // namespace harena::http
