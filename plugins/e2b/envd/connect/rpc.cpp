#include "plugins/e2b/envd/connect/rpc.hpp"

#include <google/protobuf/message.h>

#include <array>
#include <utility>

#include "plugins/e2b/envd/connect/code.hpp"
#include "plugins/e2b/envd/http/gzip.hpp"
#include "sdk/base/text.hpp"

namespace harena::e2b {

using http::Task;

namespace {

/// Below, a gzip envelope is no smaller.
constexpr std::size_t kWorthGzipBytes = 1024;
constexpr std::size_t kRpcBlockBytes = 16 * 1024;
/// Ten digits, as the protocol says.
constexpr std::int64_t kMaxTimeoutMs = 9'999'999'999;
constexpr std::int64_t kMaxKeepaliveS = 24 * 3600;

const char* encoding_header(bool streaming) { return streaming ? "Connect-Content-Encoding" : "Content-Encoding"; }
const char* accept_header(bool streaming) { return streaming ? "Connect-Accept-Encoding" : "Accept-Encoding"; }

bool names_gzip(const http::Headers& headers, const char* name) {
  for (const auto token : headers.tokens(name)) {
    const auto coding = token.substr(0, token.find(';'));
    const bool refused = token.find("q=0") != std::string_view::npos && token.find("q=0.") == std::string_view::npos;
    if (http::iequals(coding, "gzip") && !refused) return true;
  }
  return false;
}

}  // namespace

Status Rpc::open() {
  const auto type = request_.header("Content-Type").value_or("");
  const auto kind = content_kind(type);
  if (!kind) return make_error(ErrorCode::invalid_argument, "content type '" + std::string(type) + "'");
  kind_ = *kind;
  const auto version = request_.header("Connect-Protocol-Version");
  if (version && *version != "1") {
    return make_error(ErrorCode::invalid_argument, "Connect-Protocol-Version '" + std::string(*version) + "'; 1 is spoken here");
  }
  if (const auto text = request_.header("Keepalive-Ping-Interval")) {
    const auto seconds = parse_int(*text, 1, kMaxKeepaliveS, "Keepalive-Ping-Interval");
    if (seconds) keepalive_ = std::chrono::seconds(*seconds);  // a bad one counts as none, as E2B takes it
  }
  HARENA_TRY_STATUS(open_timeout());
  return open_compression();
}

Status Rpc::open_timeout() {
  const auto text = request_.header("Connect-Timeout-Ms");
  if (!text) return {};
  HARENA_TRY(const auto ms, parse_int(*text, 0, kMaxTimeoutMs, "Connect-Timeout-Ms"));
  timeout_ = std::chrono::milliseconds(ms);
  return {};
}

Status Rpc::open_compression() {
  const auto encoding = request_.header(encoding_header(kind_.streaming)).value_or("identity");
  gzip_in_ = http::iequals(encoding, "gzip");
  if (!gzip_in_ && !http::iequals(encoding, "identity") && !encoding.empty()) {
    return make_error(ErrorCode::unimplemented, "compression '" + std::string(encoding) + "'; gzip and identity are known");
  }
  gzip_out_ = names_gzip(request_.headers(), accept_header(kind_.streaming));
  return {};
}

Task<Status> Rpc::receive(google::protobuf::Message& message) {
  if (kind_.streaming) {
    HARENA_CO_TRY(const bool some, co_await receive_next(message));
    if (!some) co_return make_error(ErrorCode::invalid_argument, "the request's stream ends before its message");
    co_return ok_status();
  }
  HARENA_CO_TRY(auto body, co_await request_.read_all(kMaxMessageBytes));
  if (gzip_in_) {
    HARENA_CO_TRY(body, gunzip(body, kMaxMessageBytes));
  }
  co_return decode_message(kind_.codec, body, message);
}

Task<Result<bool>> Rpc::receive_next(google::protobuf::Message& message) {
  HARENA_CO_TRY(auto envelope, co_await next_envelope());
  if (!envelope || envelope->end()) co_return false;
  HARENA_CO_TRY(const auto bytes, plain(std::move(*envelope)));
  HARENA_CO_TRY_STATUS(decode_message(kind_.codec, bytes, message));
  co_return true;
}

Task<Result<std::optional<Envelope>>> Rpc::next_envelope() {
  std::array<std::byte, kRpcBlockBytes> block;
  const std::span<std::byte> all(block);
  for (;;) {
    HARENA_CO_TRY(auto envelope, reader_.next());
    if (envelope) co_return envelope;
    HARENA_CO_TRY(const auto count, co_await request_.read(all));
    if (count == 0) break;
    reader_.add({reinterpret_cast<const char*>(block.data()), count});
  }
  if (!reader_.empty()) co_return make_error(ErrorCode::invalid_argument, "the request ends inside an envelope");
  co_return std::optional<Envelope>();
}

Result<std::string> Rpc::plain(Envelope envelope) const {
  if (!envelope.compressed()) return std::move(envelope.payload);
  if (!gzip_in_) {
    return make_error(ErrorCode::invalid_argument, "a compressed envelope without Connect-Content-Encoding: gzip");
  }
  return gunzip(envelope.payload, kMaxMessageBytes);
}

Task<Status> Rpc::answer(const google::protobuf::Message& message) {
  HARENA_CO_TRY(auto body, encode_message(kind_.codec, message));
  http::Headers headers;
  headers.add("Content-Type", content_type(kind_));
  if (gzip_out_ && body.size() >= kWorthGzipBytes) {
    HARENA_CO_TRY(body, gzip(body));
    headers.add("Content-Encoding", "gzip");
  }
  headers.add("Vary", "Accept-Encoding");
  co_return co_await response_.send(200, std::move(headers), body);
}

http::Headers Rpc::stream_headers() {
  Status gone = make_error(ErrorCode::unavailable, "the server is being stopped: connect again");
  std::string last_words;
  append_envelope(last_words, kEnvelopeEnd, end_of_stream(gone));
  response_.set_last_words(std::move(last_words));
  http::Headers headers;
  headers.add("Content-Type", content_type(kind_));  // to the letter: a client compares it
  if (gzip_out_) headers.add("Connect-Content-Encoding", "gzip");
  headers.add("Cache-Control", "no-cache, no-transform");
  headers.add("X-Accel-Buffering", "no");
  return headers;
}

Task<Status> Rpc::write(std::string_view bytes) {
  if (response_.begun()) co_return co_await response_.write(bytes);
  co_return co_await response_.begin_with(200, stream_headers(), std::nullopt, std::as_bytes(std::span(bytes)));
}

Status Rpc::enclose(const google::protobuf::Message& message, std::string& out) const {
  HARENA_TRY(auto payload, encode_message(kind_.codec, message));
  const bool packed = gzip_out_ && payload.size() >= kWorthGzipBytes;
  if (packed) {
    HARENA_TRY(payload, gzip(payload));
  }
  append_envelope(out, packed ? kEnvelopeCompressed : std::uint8_t{0}, payload);
  return {};
}

Task<Status> Rpc::send(const google::protobuf::Message& message) {
  HARENA_CO_TRY_STATUS(enclose(message, held_));
  co_return co_await flush();
}

Task<Status> Rpc::flush() {
  auto turn = co_await mutex_.lock();
  if (settled_) co_return make_error(ErrorCode::cancelled, "the stream has ended");
  if (held_.empty()) co_return ok_status();
  const auto bytes = std::exchange(held_, std::string());
  torn_ = true;
  auto written = co_await write(bytes);
  torn_ = !written.ok();
  co_return written;
}

Task<void> Rpc::settle() {
  settled_ = true;  // before the turn: who sends without a pause would always have it first
  auto turn = co_await mutex_.lock();
}

Status Rpc::hold(const google::protobuf::Message& message) { return enclose(message, held_); }

Task<Status> Rpc::end(Status outcome) {
  if (!kind_.streaming) {
    if (outcome.ok()) co_return ok_status();
    http::Headers headers;
    headers.add("Content-Type", "application/json");
    const auto body = connect_error_body(outcome.error());
    const int status = connect_status(outcome.error().code);
    co_return co_await response_.send(status, std::move(headers), body);
  }
  if (torn_) co_return make_error(ErrorCode::unavailable, "a message was cut in the middle: the connection is broken off");
  auto turn = co_await mutex_.lock();
  settled_ = true;
  auto bytes = std::move(held_);
  append_envelope(bytes, kEnvelopeEnd, end_of_stream(outcome));
  // What is over before anything was told has a length, and goes out in one piece.
  if (!response_.begun()) co_return co_await response_.send(200, stream_headers(), bytes);
  co_return co_await response_.finish_with(std::as_bytes(std::span(bytes)));
}

}  // namespace harena::e2b
