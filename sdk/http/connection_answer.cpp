// A connection as the sink of its answers.
#include <array>
#include <charconv>
#include <utility>

#include "sdk/http/connection.hpp"
#include "sdk/http/error.hpp"
#include "sdk/http/shard.hpp"
#include "sdk/http/tls.hpp"

namespace harena::http {
namespace {

bool has_no_body(int status) { return status < 200 || status == 204 || status == 304; }

// What a 304 says of the length is the representation's, which isn't sent.
std::optional<std::uint64_t> length_field(int status, const Headers& headers, BodyKind kind, std::uint64_t length) {
  if (kind == BodyKind::length) return length;
  if (status != 304) return std::nullopt;
  const auto text = headers.get("Content-Length").value_or("");
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

template <class Write>
Task<Status> Connection::guarded_write(Write write) {
  write_deadline_ = std::chrono::steady_clock::now() + shard_->core().options.write_stall_timeout;
  writing_ = true;
  auto status = co_await write();
  write_deadline_ = TimePoint::max();
  writing_ = !status.ok();
  if (!status.ok() && status.error().code == ErrorCode::unavailable) gone_ = true;
  co_return status;
}

std::string Connection::answer_head(int status, const Headers& headers, BodyKind kind, std::uint64_t length) {
  if (std::exchange(expects_continue_, false)) keep_alive_ = false;  // who knows whether the body will come
  if (kind == BodyKind::until_close) keep_alive_ = false;
  std::string head;
  head.reserve(256);
  append_status_line(head, status, std::exchange(reason_, std::string()));
  const bool has_length = append_fields(head, headers, length_field(status, headers, kind, length));
  if (!headers.contains("Date")) append_field(head, "Date", shard_->http_date());
  if (kind == BodyKind::length && !has_length) append_field(head, "Content-Length", std::to_string(length));
  if (kind == BodyKind::chunked && !head_only_) append_field(head, "Transfer-Encoding", "chunked");
  if (!keep_alive_) append_field(head, "Connection", "close");
  if (keep_alive_ && http10_) append_field(head, "Connection", "keep-alive");
  head += "\r\n";
  return head;
}

BodyKind Connection::body_kind(int status, bool has_length) const {
  if (has_no_body(status)) return BodyKind::none;
  if (has_length) return BodyKind::length;
  return http10_ ? BodyKind::until_close : BodyKind::chunked;
}

Task<Status> Connection::inform(int status, const Headers& headers) {
  if (status == 100) expects_continue_ = false;
  if (http10_) co_return ok_status();
  std::string head;
  append_status_line(head, status, std::exchange(reason_, std::string()));
  append_fields(head, headers);
  head += "\r\n";
  co_return co_await guarded_write([&] { return stream_->write(std::string_view(head)); });
}

Task<Status> Connection::send(int status, const Headers& headers, std::string_view body) {
  // A body that nobody will read: the client must not send its next request behind it. (What never became a request has no
  // body to ask about, and isn't kept alive.)
  if (keep_alive_ && !reader_->done() && body_length().value_or(kMaxDiscardedBytes + 1) > kMaxDiscardedBytes) keep_alive_ = false;
  const auto head = answer_head(status, headers, body_kind(status, true), body.size());
  if (head_only_ || has_no_body(status)) body = {};
  const std::array<std::span<const std::byte>, 2> parts = {std::as_bytes(std::span(head)),
                                                           std::as_bytes(std::span(body))};
  co_return co_await guarded_write([&] { return stream_->write_parts(parts); });
}

std::string Connection::begin_head(int status, const Headers& headers, std::optional<std::uint64_t> length) {
  const auto kind = body_kind(status, length.has_value());
  auto head = answer_head(status, headers, kind, length.value_or(0));
  body_writer_.emplace(*stream_, head_only_ ? BodyKind::none : kind, length.value_or(0));
  return head;
}

Task<Status> Connection::begin(int status, const Headers& headers, std::optional<std::uint64_t> length) {
  const auto head = begin_head(status, headers, length);
  co_return co_await guarded_write([&] { return stream_->write(std::string_view(head)); });
}

Task<Status> Connection::write(std::span<const std::byte> bytes) {
  co_return co_await guarded_write([&] { return body_writer_->write(bytes); });
}

Task<Status> Connection::finish(const Headers& trailers) {
  co_return co_await guarded_write([&] { return body_writer_->finish(trailers); });
}

Task<Status> Connection::begin_with(int status, const Headers& headers, std::optional<std::uint64_t> length,
                                    std::span<const std::byte> first) {
  auto head = begin_head(status, headers, length);
  co_return co_await guarded_write([&] { return body_writer_->write_behind(std::move(head), first); });
}

Task<Status> Connection::finish_with(std::span<const std::byte> last) {
  co_return co_await guarded_write([&] { return body_writer_->finish_with(last); });
}

Task<Result<std::unique_ptr<ByteStream>>> Connection::upgrade(int status, const Headers& headers) {
  if (!reader_->done()) {
    co_return make_error(ErrorCode::invalid_argument, "a request with an unread body can't be upgraded");
  }
  std::string head;
  append_status_line(head, status, std::exchange(reason_, std::string()));
  append_fields(head, headers);
  head += "\r\n";
  HARENA_CO_TRY_STATUS(co_await guarded_write([&] { return stream_->write(std::string_view(head)); }));
  keep_alive_ = false;
  phase_ = Phase::taken_over;
  auto& buffer = reader_->buffer();
  auto stream = with_prefix(std::move(stream_), buffer.data());
  buffer.consume(buffer.size());
  co_return stream;
}

}  // namespace harena::http
