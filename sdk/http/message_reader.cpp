#include "sdk/http/message_reader.hpp"

#include <boost/beast/http/error.hpp>

#include <algorithm>

namespace harena::http {

template <bool kRequest>
MessageReader<kRequest>::MessageReader(ByteStream& stream, const MessageLimits& limits)
    : stream_(stream), limits_(limits), buffer_(std::max<std::size_t>(limits.header_bytes + 1024, 16 * 1024)) {}

template <bool kRequest>
Task<Result<bool>> MessageReader<kRequest>::fill() {
  HARENA_CO_TRY(const std::size_t count, co_await stream_.read(buffer_.prepare()));
  buffer_.commit(count);
  co_return count > 0;
}

template <bool kRequest>
Task<Result<bool>> MessageReader<kRequest>::wait_for_bytes() {
  if (!buffer_.empty()) co_return true;
  co_return co_await fill();
}

template <bool kRequest>
Status MessageReader<kRequest>::check(const boost::beast::error_code& code) {
  if (!code || code == boost::beast::http::error::need_more) return ok_status();
  failure_status_ = parser_->failure_status(code);
  const auto kind = failure_status_ == 431 ? ErrorCode::resource_exhausted : ErrorCode::invalid_argument;
  return make_error(kind, parser_->failure_message(code));
}

template <bool kRequest>
Error MessageReader<kRequest>::stream_ended() {
  failure_status_ = 0;
  return make_error(ErrorCode::unavailable, "the connection ended in the middle of an HTTP message");
}

// Feeds what is buffered to the parser once; false if it needs more bytes.
template <bool kRequest>
Result<bool> MessageReader<kRequest>::parse_some() {
  boost::beast::error_code code;
  buffer_.consume(parser_->put_bytes(buffer_.data(), code));
  HARENA_TRY_STATUS(check(code));
  if (code && buffer_.full()) {
    HARENA_TRY_STATUS(check(boost::beast::http::error::header_limit));
  }
  return !code;
}

// RFC 9112 2.2: a server should ignore an empty line before a request; two at most here.
template <bool kRequest>
Task<Status> MessageReader<kRequest>::skip_empty_lines() {
  for (int skipped = 0; kRequest && skipped < 4 && !buffer_.empty(); ++skipped) {
    const auto first = std::to_integer<char>(buffer_.data().front());
    if (first != '\r' && first != '\n') break;
    buffer_.consume(1);
    if (!buffer_.empty()) continue;
    HARENA_CO_TRY(const bool more, co_await fill());
    if (!more) co_return stream_ended();
  }
  co_return ok_status();
}

template <bool kRequest>
Task<Result<MessageHead>> MessageReader<kRequest>::read_head(bool skip_body) {
  head_ = MessageHead();
  trailers_.clear();
  parser_.emplace(limits_, head_, trailers_);
  if (skip_body) parser_->skip(true);
  HARENA_CO_TRY_STATUS(co_await skip_empty_lines());
  while (!parser_->is_header_done()) {
    bool more = buffer_.empty();
    if (!more) {
      HARENA_CO_TRY(const bool progress, parse_some());
      more = !progress;
    }
    if (!more) continue;
    HARENA_CO_TRY(const bool filled, co_await fill());
    if (!filled) co_return stream_ended();
  }
  co_return std::move(head_);
}

template <bool kRequest>
Task<Result<std::size_t>> MessageReader<kRequest>::read_directly(std::span<std::byte> into) {
  const auto wanted = std::min<std::uint64_t>(into.size(), parser_->contiguous());
  into = into.first(static_cast<std::size_t>(wanted));
  HARENA_CO_TRY(const std::size_t count, co_await stream_.read(into));
  boost::beast::error_code code;
  if (count == 0) {
    parser_->put_eof(code);
    if (code) co_return stream_ended();
    co_return std::size_t{0};
  }
  parser_->deliver_to(into);
  parser_->put_bytes(into.first(count), code);
  HARENA_CO_TRY_STATUS(check(code));
  co_return count;
}

template <bool kRequest>
Task<Result<std::size_t>> MessageReader<kRequest>::read_body(std::span<std::byte> into) {
  while (!done()) {
    if (buffer_.empty() && parser_->contiguous() > 0) {
      HARENA_CO_TRY(const std::size_t count, co_await read_directly(into));
      if (count > 0) co_return count;
      continue;
    }
    bool more = buffer_.empty();
    if (!more) {
      parser_->deliver_to(into);
      HARENA_CO_TRY(const bool progress, parse_some());
      if (parser_->delivered() > 0) co_return parser_->delivered();
      more = !progress;
    }
    if (!more) continue;
    HARENA_CO_TRY(const bool filled, co_await fill());
    if (!filled) co_return stream_ended();
  }
  co_return std::size_t{0};
}

template <bool kRequest>
std::optional<std::uint64_t> MessageReader<kRequest>::content_length() const {
  const auto length = parser_->content_length();
  if (!length) return std::nullopt;
  return *length;
}

template class MessageReader<true>;
template class MessageReader<false>;

}  // namespace harena::http
