#include "sdk/http/websocket.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "sdk/base/random.hpp"
#include "sdk/base/text.hpp"
#include "sdk/http/async_mutex.hpp"
#include "sdk/http/input_buffer.hpp"
#include "sdk/http/websocket_frame.hpp"

namespace harena::http {
namespace {

using Kind = WebSocketMessage::Kind;
constexpr std::uint16_t kProtocolError = 1002;
constexpr std::uint16_t kNoCode = 1005;
constexpr std::uint16_t kAbnormal = 1006;
constexpr std::uint16_t kBadText = 1007;
constexpr std::uint16_t kTooBig = 1009;
constexpr std::size_t kMaxControlBytes = 125;

std::string close_payload(std::uint16_t code, std::string_view reason) {
  std::string payload;
  if (code == kNoCode) return payload;
  payload += static_cast<char>(code >> 8);
  payload += static_cast<char>(code & 0xff);
  payload += reason.substr(0, kMaxControlBytes - 2);
  return payload;
}

class StreamWebSocket final : public WebSocket {
 public:
  StreamWebSocket(std::unique_ptr<ByteStream> stream, WebSocketRole role, const WebSocketOptions& options,
                  std::string protocol)
      : stream_(std::move(stream)), role_(role), options_(options), protocol_(std::move(protocol)), buffer_(16 * 1024) {}

  Task<Result<WebSocketMessage>> receive() override;
  Task<Status> send(Kind kind, std::string_view data) override { return send_fragment(kind, data, true); }
  Task<Status> send_fragment(Kind kind, std::string_view data, bool final) override;
  Task<Status> ping(std::string_view data) override;
  Task<Status> close(std::uint16_t code, std::string_view reason) override;
  void abort() override { stream_->close(); }
  const std::string& protocol() const override { return protocol_; }

 private:

  Task<Result<std::optional<FrameHeader>>> read_header();
  Status check_header(const FrameHeader& header) const;
  Task<Status> read_payload(const FrameHeader& header, std::string& out);
  Task<Result<std::optional<WebSocketMessage>>> on_control(const FrameHeader& header);
  Task<Result<WebSocketMessage>> on_close(std::string payload);
  Task<Result<WebSocketMessage>> whole_message();
  Task<Status> write_frame(Opcode opcode, std::string_view data, bool final);
  Task<Error> fail(std::uint16_t code, std::string message);
  std::array<std::byte, 4> new_mask();

  std::unique_ptr<ByteStream> stream_;
  WebSocketRole role_;
  WebSocketOptions options_;
  std::string protocol_;
  InputBuffer buffer_;
  AsyncMutex writing_;
  SystemRandom random_;
  std::optional<Opcode> incoming_;
  std::string message_;
  bool sending_fragments_ = false;
  bool close_sent_ = false;
};

// nullopt: the stream ended between frames.
Task<Result<std::optional<FrameHeader>>> StreamWebSocket::read_header() {
  while (true) {
    HARENA_CO_TRY(const auto decoded, decode_frame_header(buffer_.data()));
    if (decoded) {
      buffer_.consume(decoded->size);
      co_return decoded->header;
    }
    HARENA_CO_TRY(const std::size_t count, co_await stream_->read(buffer_.prepare()));
    if (count == 0) co_return std::optional<FrameHeader>();
    buffer_.commit(count);
  }
}

Status StreamWebSocket::check_header(const FrameHeader& header) const {
  const bool must_mask = role_ == WebSocketRole::server;
  if (header.mask.has_value() != must_mask) {
    return make_error(ErrorCode::invalid_argument, must_mask ? "an unmasked frame" : "a masked frame");
  }
  if (is_control(header.opcode)) return ok_status();
  if ((header.opcode == Opcode::continuation) != incoming_.has_value()) {
    return make_error(ErrorCode::invalid_argument, "a fragment out of order");
  }
  return ok_status();
}

Task<Status> StreamWebSocket::read_payload(const FrameHeader& header, std::string& out) {
  constexpr std::size_t kStep = 64 * 1024;  // memory follows what has really come
  std::uint64_t done = 0;
  while (done < header.length) {
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(header.length - done, kStep));
    const auto at = out.size();
    out.resize(at + want);
    auto room = std::as_writable_bytes(std::span(out)).subspan(at);
    std::size_t count = std::min(want, buffer_.size());
    if (count > 0) {
      std::copy_n(buffer_.data().begin(), count, room.begin());
      buffer_.consume(count);
    } else {
      HARENA_CO_TRY(count, co_await stream_->read(room));
      if (count == 0) co_return make_error(ErrorCode::unavailable, "the connection ended inside a WebSocket frame");
    }
    if (header.mask) apply_mask(room.first(count), *header.mask, done);
    out.resize(at + count);
    done += count;
  }
  co_return ok_status();
}

Task<Result<WebSocketMessage>> StreamWebSocket::receive() {
  while (true) {
    auto read = co_await read_header();
    if (!read.ok() && read.error().code != ErrorCode::invalid_argument) co_return std::move(read).error();
    if (!read.ok()) co_return co_await fail(kProtocolError, read.error().message);
    if (!read->has_value()) co_return WebSocketMessage{Kind::closed, "", kAbnormal};
    const FrameHeader header = **read;
    if (auto checked = check_header(header); !checked.ok()) {
      co_return co_await fail(kProtocolError, checked.error().message);
    }
    if (is_control(header.opcode)) {
      HARENA_CO_TRY(auto end, co_await on_control(header));
      if (end) co_return std::move(*end);
      continue;
    }
    if (header.length > options_.max_message_bytes - message_.size()) {
      co_return co_await fail(kTooBig, "a message over " + std::to_string(options_.max_message_bytes) + " bytes");
    }
    if (header.opcode != Opcode::continuation) incoming_ = header.opcode;
    HARENA_CO_TRY_STATUS(co_await read_payload(header, message_));
    if (header.final) co_return co_await whole_message();
  }
}

Task<Result<WebSocketMessage>> StreamWebSocket::whole_message() {
  WebSocketMessage message;
  message.kind = *incoming_ == Opcode::text ? Kind::text : Kind::binary;
  message.data = std::exchange(message_, std::string());
  incoming_.reset();
  if (message.kind == Kind::text && !is_utf8(message.data)) {
    co_return co_await fail(kBadText, "a text message that isn't UTF-8");
  }
  co_return message;
}

Task<Result<std::optional<WebSocketMessage>>> StreamWebSocket::on_control(const FrameHeader& header) {
  std::string payload;
  HARENA_CO_TRY_STATUS(co_await read_payload(header, payload));
  if (header.opcode == Opcode::close) {
    HARENA_CO_TRY(auto closed, co_await on_close(std::move(payload)));
    co_return std::optional<WebSocketMessage>(std::move(closed));
  }
  if (header.opcode == Opcode::ping && !close_sent_) {
    HARENA_CO_TRY_STATUS(co_await write_frame(Opcode::pong, payload, true));
  }
  co_return std::optional<WebSocketMessage>();
}

Task<Result<WebSocketMessage>> StreamWebSocket::on_close(std::string payload) {
  WebSocketMessage message{Kind::closed, "", kNoCode};
  if (payload.size() == 1) co_return co_await fail(kProtocolError, "a close frame with one byte");
  if (payload.size() >= 2) {
    message.close_code = static_cast<std::uint16_t>((static_cast<unsigned char>(payload[0]) << 8) |
                                                    static_cast<unsigned char>(payload[1]));
    message.data = payload.substr(2);
    if (!is_valid_close_code(message.close_code)) co_return co_await fail(kProtocolError, "an invalid close code");
    if (!is_utf8(message.data)) co_return co_await fail(kBadText, "a close reason that isn't UTF-8");
  }
  // An answer that can't be sent changes nothing: the peer has closed.
  (void)co_await close(message.close_code, "");
  (void)co_await stream_->shutdown_write();
  co_return message;
}

Task<Status> StreamWebSocket::send_fragment(Kind kind, std::string_view data, bool final) {
  if (kind == Kind::closed) co_return make_error(ErrorCode::invalid_argument, "close() sends close frames");
  auto opcode = kind == Kind::text ? Opcode::text : Opcode::binary;
  if (sending_fragments_) opcode = Opcode::continuation;
  sending_fragments_ = !final;
  co_return co_await write_frame(opcode, data, final);
}

Task<Status> StreamWebSocket::ping(std::string_view data) {
  if (data.size() > kMaxControlBytes) {
    co_return make_error(ErrorCode::invalid_argument, "a ping carries at most 125 bytes");
  }
  co_return co_await write_frame(Opcode::ping, data, true);
}

Task<Status> StreamWebSocket::close(std::uint16_t code, std::string_view reason) {
  if (close_sent_) co_return ok_status();
  const auto payload = close_payload(code, reason);
  auto sent = co_await write_frame(Opcode::close, payload, true);
  close_sent_ = true;
  co_return sent;
}

Task<Status> StreamWebSocket::write_frame(Opcode opcode, std::string_view data, bool final) {
  const auto guard = co_await writing_.lock();
  if (close_sent_) co_return make_error(ErrorCode::failed_precondition, "the WebSocket is closing");
  FrameHeader header{final, opcode, std::nullopt, data.size()};
  auto payload = std::as_bytes(std::span(data));
  std::vector<std::byte> masked;
  if (role_ == WebSocketRole::client) {
    header.mask = new_mask();
    masked.assign(payload.begin(), payload.end());
    apply_mask(masked, *header.mask, 0);
    payload = masked;
  }
  const auto head = encode_frame_header(header);
  const std::array<std::span<const std::byte>, 2> parts = {std::as_bytes(std::span(head)), payload};
  co_return co_await stream_->write_parts(parts);
}

Task<Error> StreamWebSocket::fail(std::uint16_t code, std::string message) {
  (void)co_await close(code, message);
  (void)co_await stream_->shutdown_write();
  co_return make_error(ErrorCode::invalid_argument, "WebSocket peer: " + message);
}

std::array<std::byte, 4> StreamWebSocket::new_mask() {
  std::array<std::byte, 4> mask;
  random_.fill(mask);
  return mask;
}

}  // namespace

std::unique_ptr<WebSocket> make_websocket(std::unique_ptr<ByteStream> stream, WebSocketRole role,
                                          const WebSocketOptions& options, std::string protocol) {
  return std::make_unique<StreamWebSocket>(std::move(stream), role, options, std::move(protocol));
}

}  // namespace harena::http
