#pragma once
// WebSocket (RFC 6455) on a ByteStream, both roles.
//
//   HARENA_CO_TRY(auto socket, co_await response.accept_websocket(options));
//   while (true) {
//     HARENA_CO_TRY(auto message, co_await socket->receive());
//     if (message.kind == WebSocketMessage::Kind::closed) co_return ok_status();
//     HARENA_CO_TRY_STATUS(co_await socket->send(message.kind, message.data));
//   }
//
// The surprising rule: pings are answered and a client's departure is seen only while receive() waits, so a handler
// that only sends must have a receive() running beside it.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/http/byte_stream.hpp"
#include "sdk/http/headers.hpp"
#include "sdk/http/task.hpp"

namespace harena::http {

struct WebSocketOptions {
  /// Sub-protocols in order of preference. A server chooses the first of its own that the client offers, none if
  /// there is none; a client offers these.
  std::vector<std::string> protocols;
  /// A larger message ends the connection with close code 1009.
  std::size_t max_message_bytes = 1024 * 1024;
};

struct WebSocketMessage {
  enum class Kind { text, binary, closed };
  Kind kind = Kind::binary;
  /// The message; the reason if closed.
  std::string data;
  /// If closed: the peer's code, 1005 if it gave none, 1006 if the connection ended without a close frame.
  std::uint16_t close_code = 0;
};

enum class WebSocketRole { server, client };

/// One receive() and any number of send() and ping() may overlap, on one executor.
class WebSocket {
 public:
  virtual ~WebSocket() = default;

  /// The next whole message, fragments put together. Answers pings and the peer's close; after `closed` it
  /// must not be called again. Errors: invalid_argument (the peer broke the protocol and was told so by 1002, 1007
  /// or 1009), unavailable.
  virtual Task<Result<WebSocketMessage>> receive() = 0;
  /// A whole message as one frame; text must be UTF-8 (not checked).
  virtual Task<Status> send(WebSocketMessage::Kind kind, std::string_view data) = 0;
  /// A message in pieces: the last one with `final`. No other send() in between.
  virtual Task<Status> send_fragment(WebSocketMessage::Kind kind, std::string_view data, bool final) = 0;
  /// At most 125 bytes, else invalid_argument.
  virtual Task<Status> ping(std::string_view data) = 0;
  /// Sends a close frame once; receive() then gets the peer's. Reasons over 123 bytes are cut.
  virtual Task<Status> close(std::uint16_t code, std::string_view reason) = 0;
  /// Drops the connection.
  virtual void abort() = 0;
  /// The sub-protocol agreed on; empty if none.
  virtual const std::string& protocol() const = 0;
};

std::unique_ptr<WebSocket> make_websocket(std::unique_ptr<ByteStream> stream, WebSocketRole role,
                                          const WebSocketOptions& options, std::string protocol);

/// The server's half of the handshake. invalid_argument says what of the request is no WebSocket handshake.
struct WebSocketAnswer {
  Headers headers;
  std::string protocol;
};
Result<WebSocketAnswer> websocket_answer(std::string_view method, const Headers& request,
                                         const WebSocketOptions& options);
/// Sec-WebSocket-Accept for a Sec-WebSocket-Key.
std::string websocket_accept(std::string_view key);

}  // namespace harena::http
