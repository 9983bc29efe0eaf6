#pragma once
// ResponseWriter: how a handler answers, at once or as a stream, or by taking the connection over.

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sdk/base/result.hpp"
#include "sdk/http/byte_stream.hpp"
#include "sdk/http/headers.hpp"
#include "sdk/http/task.hpp"

namespace harena::http {

class Request;
class WebSocket;
struct WebSocketOptions;

/// Where an answer goes: a connection, or whoever calls the API in process.
class ResponseSink {
 public:
  virtual ~ResponseSink() = default;
  /// A 1xx before the answer.
  virtual Task<Status> inform(int status, const Headers& headers) = 0;
  /// A whole answer.
  virtual Task<Status> send(int status, const Headers& headers, std::string_view body) = 0;
  /// A streamed answer: head, pieces, end.
  virtual Task<Status> begin(int status, const Headers& headers, std::optional<std::uint64_t> length) = 0;
  virtual Task<Status> write(std::span<const std::byte> bytes) = 0;
  virtual Task<Status> finish(const Headers& trailers) = 0;
  /// begin() and write(), write() and finish(): in one piece where the sink can.
  virtual Task<Status> begin_with(int status, const Headers& headers, std::optional<std::uint64_t> length,
                                  std::span<const std::byte> first);
  virtual Task<Status> finish_with(std::span<const std::byte> last);
  /// A head, after which the connection is a stream of bytes.
  virtual Task<Result<std::unique_ptr<ByteStream>>> upgrade(int status, const Headers& headers) = 0;
  /// See ResponseWriter. A sink that has no such thing drops it.
  virtual void set_reason(std::string) {}
  virtual void set_last_words(std::string) {}
};

/// One answer to one request. Calls in the wrong order (two answers, write before begin) return failed_precondition
/// and do nothing. Used like the request: by one coroutine chain at a time.
class ResponseWriter {
 public:
  /// Borrows both.
  ResponseWriter(const Request& request, ResponseSink& sink) : request_(request), sink_(sink) {}

  /// A whole answer, Content-Length set. `headers` valid as Headers::valid() says, else invalid_argument.
  Task<Status> send(int status, Headers headers, std::string_view body);
  /// The same with `Content-Type: application/json`.
  Task<Status> send_json(int status, const nlohmann::json& body);
  /// Status and body as error.hpp says; 401 gets its WWW-Authenticate. `status` overrides the code's own.
  Task<Status> send_error(const Error& error);
  Task<Status> send_error(const Error& error, const nlohmann::json& details,
                          std::optional<int> status = std::nullopt);

  /// The phrase behind the status of the next head, in the place of the usual one; it is only ever read by people.
  /// invalid_argument if it has control characters.
  Status set_reason(std::string reason);
  /// Says that the client can come back for the rest of this answer. A server that stops then doesn't wait for the
  /// handler: it cancels it, sends `text` (the answer's own way to say "go on elsewhere") and ends the body properly.
  /// Nothing is sent when a write() was cut in the middle: the client sees a lost connection then.
  void set_last_words(std::string text) { sink_.set_last_words(std::move(text)); }

  /// An interim answer such as 103.
  Task<Status> inform(int status, Headers headers);

  /// Starts a streamed answer: the head goes out at once, then write() as often as needed, then finish(). Without
  /// a length it is chunked (to HTTP/1.0: until close).
  Task<Status> begin(int status, Headers headers, std::optional<std::uint64_t> length = std::nullopt);
  /// Returns when the kernel has accepted the bytes: a slow reader slows the handler down.
  Task<Status> write(std::span<const std::byte> bytes);
  Task<Status> write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  /// Trailers go to chunked answers only. A handler that returns after begin() without finish() breaks the
  /// connection off, so that the client sees a truncated answer and not a complete one.
  Task<Status> finish() { return finish(Headers()); }
  Task<Status> finish(Headers trailers);
  /// begin() and the first write(), the last write() and finish(): one piece on the wire, one turn for who reads it.
  Task<Status> begin_with(int status, Headers headers, std::optional<std::uint64_t> length, std::span<const std::byte> first);
  Task<Status> finish_with(std::span<const std::byte> last);

  /// Answers 101 with `Upgrade: protocol`; what follows on the connection, both ways, is the stream's. The stream must end
  /// before the handler returns, for the server watches and drains handlers.
  Task<Result<std::unique_ptr<ByteStream>>> upgrade(std::string protocol, Headers headers);
  /// Answers 200 to a CONNECT-like request, or 101 with exactly these headers, and hands the stream over.
  Task<Result<std::unique_ptr<ByteStream>>> take_over(int status, Headers headers);
  /// Completes a WebSocket handshake (websocket.hpp). invalid_argument if the request isn't one (nothing was
  /// answered then).
  Task<Result<std::unique_ptr<WebSocket>>> accept_websocket(const WebSocketOptions& options);

  bool begun() const { return state_ != State::fresh; }
  bool finished() const { return state_ == State::done || state_ == State::taken; }
  bool taken_over() const { return state_ == State::taken; }
  /// 0 before the answer.
  int status() const { return status_; }

 private:
  enum class State { fresh, streaming, done, taken };
  Status enter(State required, State next, const char* verb);

  const Request& request_;
  ResponseSink& sink_;
  State state_ = State::fresh;
  int status_ = 0;
};

}  // namespace harena::http
