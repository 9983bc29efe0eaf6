#include "plugins/e2b/envd/connect/first_envelope.hpp"

#include "plugins/e2b/envd/connect/envelope.hpp"

namespace harena::e2b {

using http::Headers;
using http::Task;

Task<Status> FirstEnvelope::begin(int status, const Headers& headers, std::optional<std::uint64_t> length) {
  held_ = Head{status, headers, length};
  co_return ok_status();
}

/// Sets dropped_ when the stream begins with its end, and something else was answered.
Task<Status> FirstEnvelope::drop_if_end(std::span<const std::byte> first) {
  if (first.empty() || (std::to_integer<unsigned>(first[0]) & kEnvelopeEnd) == 0) co_return ok_status();
  HARENA_CO_TRY(dropped_, co_await instead_());
  co_return ok_status();
}

/// A stream that was over at once. Other answers than 200 are no streams.
Task<Status> FirstEnvelope::send(int status, const Headers& headers, std::string_view body) {
  if (status == 200) HARENA_CO_TRY_STATUS(co_await drop_if_end(std::as_bytes(std::span(body))));
  if (dropped_) co_return ok_status();
  co_return co_await inner_.send(status, headers, body);
}

Task<Status> FirstEnvelope::write(std::span<const std::byte> bytes) {
  if (held_) HARENA_CO_TRY_STATUS(co_await drop_if_end(bytes));
  if (dropped_) co_return ok_status();
  if (!held_) co_return co_await inner_.write(bytes);
  auto head = *std::exchange(held_, std::nullopt);
  co_return co_await inner_.begin_with(head.status, std::move(head.headers), head.length, bytes);
}

Task<Status> FirstEnvelope::finish(const Headers& trailers) {
  if (dropped_) co_return ok_status();
  if (held_) {
    auto head = *std::exchange(held_, std::nullopt);
    HARENA_CO_TRY_STATUS(co_await inner_.begin(head.status, std::move(head.headers), head.length));
  }
  co_return co_await inner_.finish(trailers);
}

Task<Status> FirstEnvelope::finish_with(std::span<const std::byte> last) {
  if (held_ || dropped_) co_return co_await ResponseSink::finish_with(last);
  co_return co_await inner_.finish_with(last);
}

Task<Result<std::unique_ptr<http::ByteStream>>> FirstEnvelope::upgrade(int status, const Headers& headers) {
  return inner_.take_over(status, headers);
}

}  // namespace harena::e2b
