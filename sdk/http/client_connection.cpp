#include "sdk/http/client_connection.hpp"

#include <algorithm>

namespace harena::http {
namespace {

Status check_head(const ClientHead& head) {
  if (!is_token(head.method)) return make_error(ErrorCode::invalid_argument, "'" + head.method + "' is no method");
  const bool bad = std::any_of(head.target.begin(), head.target.end(),
                               [](unsigned char c) { return c <= ' ' || c == 127; });
  if (bad || head.target.empty()) {
    return make_error(ErrorCode::invalid_argument, "a target must be encoded and not empty: '" + head.target + "'");
  }
  if (!head.headers.valid()) return make_error(ErrorCode::invalid_argument, "a header can't go on a wire");
  return ok_status();
}

// Methods for which an absent body is said with Content-Length: 0 (RFC 9110 8.6).
bool announces_empty_body(const std::string& method) {
  return method == "POST" || method == "PUT" || method == "PATCH";
}

std::string wire_head(const ClientHead& head) {
  std::string out;
  append_request_line(out, head.method, head.target);
  std::optional<std::uint64_t> length;
  if (head.body == BodyKind::length) length = head.length;
  const bool has_length = append_fields(out, head.headers, length);
  if (length && !has_length) append_field(out, "Content-Length", std::to_string(head.length));
  if (head.body == BodyKind::chunked) append_field(out, "Transfer-Encoding", "chunked");
  if (head.body == BodyKind::none && announces_empty_body(head.method)) append_field(out, "Content-Length", "0");
  out += "\r\n";
  return out;
}

}  // namespace

ClientConnection::ClientConnection(std::unique_ptr<ByteStream> stream, MessageLimits limits)
    : stream_(std::move(stream)), reader_(*stream_, limits) {}

Result<std::string> ClientConnection::begin_message(const ClientHead& head) {
  HARENA_TRY_STATUS(check_head(head));
  method_ = head.method;
  wants_close_ = head.headers.has_token("Connection", "close");
  sent_ = head.body == BodyKind::none;
  answered_ = false;
  untouched_ = true;
  writer_.emplace(*stream_, head.body, head.length);
  return wire_head(head);
}

Task<Status> ClientConnection::send_head(ClientHead head) {
  HARENA_CO_TRY(const auto bytes, begin_message(head));
  auto status = co_await stream_->write(std::string_view(bytes));
  failed_ = failed_ || !status.ok();
  co_return status;
}

Task<Status> ClientConnection::send_whole(ClientHead head, std::string_view body) {
  head.body = body.empty() ? BodyKind::none : BodyKind::length;
  head.length = body.size();
  HARENA_CO_TRY(auto bytes, begin_message(head));
  auto status = co_await writer_->write_behind(std::move(bytes), std::as_bytes(std::span(body)));
  failed_ = failed_ || !status.ok();
  sent_ = status.ok();
  co_return status;
}

Task<Status> ClientConnection::write_body(std::span<const std::byte> bytes) {
  auto status = co_await writer_->write(bytes);
  failed_ = failed_ || !status.ok();
  co_return status;
}

Task<Status> ClientConnection::finish_body(const Headers& trailers) {
  auto status = co_await writer_->finish(trailers);
  failed_ = failed_ || !status.ok();
  sent_ = status.ok();
  co_return status;
}

Task<Result<bool>> ClientConnection::wait_for_answer() { co_return co_await reader_.wait_for_bytes(); }

Task<Result<ResponseHead>> ClientConnection::read_head(bool with_interim) {
  while (true) {
    HARENA_CO_TRY(const bool some, co_await reader_.wait_for_bytes());
    if (!some) co_return make_error(ErrorCode::unavailable, "the server closed the connection without an answer");
    untouched_ = false;
    HARENA_CO_TRY(auto head, co_await reader_.read_head(method_ == "HEAD"));
    const bool interim = head.status < 200 && head.status != 101;
    if (interim && !with_interim) continue;
    answered_ = !interim;
    ResponseHead answer{head.status, std::move(head.reason), std::move(head.headers), reader_.content_length()};
    if (reader_.done() && method_ != "HEAD") answer.length = 0;
    co_return answer;
  }
}

Task<Result<std::size_t>> ClientConnection::read_body(std::span<std::byte> into) {
  auto count = co_await reader_.read_body(into);
  failed_ = failed_ || !count.ok();
  co_return count;
}

Task<Result<std::string>> ClientConnection::read_all(std::size_t limit_bytes) {
  constexpr std::size_t kBlock = 16 * 1024;
  std::string text;
  std::size_t filled = 0;
  while (true) {
    text.resize(std::min(limit_bytes + 1, filled + kBlock));
    const auto room = std::as_writable_bytes(std::span(text)).subspan(filled);
    HARENA_CO_TRY(const std::size_t count, co_await read_body(room));
    if (count == 0) break;
    filled += count;
    if (filled > limit_bytes) {
      failed_ = true;
      co_return make_error(ErrorCode::resource_exhausted,
                           "the answer is larger than " + std::to_string(limit_bytes) + " bytes");
    }
  }
  text.resize(filled);
  co_return text;
}

bool ClientConnection::reusable() const {
  return sent_ && answered_ && !failed_ && !wants_close_ && reader_.done() && reader_.keep_alive();
}

std::unique_ptr<ByteStream> ClientConnection::take_stream() {
  auto& buffer = reader_.buffer();
  auto stream = with_prefix(std::move(stream_), buffer.data());
  buffer.consume(buffer.size());
  return stream;
}

}  // namespace harena::http
