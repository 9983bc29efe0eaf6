#include "plugins/e2b/envd/connect/first_envelope.hpp"

#include "plugins/e2b/envd/connect/envelope.hpp"

namespace harena::e2b {

using http::Headers;
using http::Task;

Task<Status> FirstEnvelope::begin(int status, const Headers& headers, std::optional<std::uint64_t> length) {
  held_ = Head{status, headers, length};
  co_return ok_status();
}

Task<Status> FirstEnvelope::begin_held() {
  if (!held_) co_return ok_status();
  auto head = std::move(*held_);
  held_.reset();
  co_return co_await inner_.begin(head.status, std::move(head.headers), head.length);
}

Task<Status> FirstEnvelope::write(std::span<const std::byte> bytes) {
  const bool ends = held_ && !bytes.empty() && (std::to_integer<unsigned>(bytes[0]) & kEnvelopeEnd) != 0;
  if (ends) {
    HARENA_CO_TRY(dropped_, co_await instead_());
  }
  if (dropped_) co_return ok_status();
  HARENA_CO_TRY_STATUS(co_await begin_held());
  co_return co_await inner_.write(bytes);
}

Task<Status> FirstEnvelope::finish(const Headers& trailers) {
  if (dropped_) co_return ok_status();
  HARENA_CO_TRY_STATUS(co_await begin_held());
  co_return co_await inner_.finish(trailers);
}

Task<Result<std::unique_ptr<http::ByteStream>>> FirstEnvelope::upgrade(int status, const Headers& headers) {
  return inner_.take_over(status, headers);
}

}  // namespace harena::e2b
