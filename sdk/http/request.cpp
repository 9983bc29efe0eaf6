#include "sdk/http/request.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace harena::http {
namespace {

Error body_too_large(std::size_t limit_bytes) {
  return make_error(ErrorCode::resource_exhausted,
                    "the request's body is larger than " + std::to_string(limit_bytes) + " bytes");
}

}  // namespace

Task<Result<std::size_t>> StringBody::read_body(std::span<std::byte> into) {
  const auto count = std::min(into.size(), text_.size() - offset_);
  std::memcpy(into.data(), text_.data() + offset_, count);
  offset_ += count;
  co_return count;
}

Request::Request(Head head, BodySource& body)
    : head_(std::move(head)), body_(body), cancel_flag_(std::make_shared<std::atomic<bool>>(false)) {}

Task<Result<std::string>> Request::read_all(std::size_t limit_bytes) {
  constexpr std::size_t kBlock = 16 * 1024;
  const auto announced = body_length();
  if (announced && *announced > limit_bytes) co_return body_too_large(limit_bytes);
  std::string text;
  std::size_t filled = 0;
  while (true) {
    text.resize(std::min(limit_bytes + 1, filled + kBlock));
    const auto room = std::as_writable_bytes(std::span(text)).subspan(filled);
    HARENA_CO_TRY(const std::size_t count, co_await read(room));
    if (count == 0) break;
    filled += count;
    if (filled > limit_bytes) co_return body_too_large(limit_bytes);
  }
  text.resize(filled);
  co_return text;
}

}  // namespace harena::http
