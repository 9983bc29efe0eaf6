#pragma once
// ClientConnection: HTTP/1.1 as a client on one ByteStream, streamed both ways.
//
//   ClientConnection connection(std::move(stream));
//   HARENA_CO_TRY_STATUS(co_await connection.send_head(head));            // then write_body(), finish_body()
//   HARENA_CO_TRY(auto answer, co_await connection.read_head());          // then read_body() until 0
//
// Redirects are answers like any other. Reading and writing may overlap.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sdk/http/body_framing.hpp"
#include "sdk/http/byte_stream.hpp"
#include "sdk/http/headers.hpp"
#include "sdk/http/message_reader.hpp"

namespace harena::http {

struct ClientHead {
  std::string method = "GET";
  /// Origin form, encoded: "/v1/x?y=z".
  std::string target = "/";
  /// Host is the caller's to set; Content-Length and Transfer-Encoding are written by send_head().
  Headers headers;
  BodyKind body = BodyKind::none;  ///< none, length or chunked
  std::uint64_t length = 0;
};

struct ResponseHead {
  int status = 0;
  std::string reason;
  Headers headers;
  /// nullopt: chunked or until the connection ends.
  std::optional<std::uint64_t> length;
};

class ClientConnection {
 public:
  explicit ClientConnection(std::unique_ptr<ByteStream> stream, MessageLimits limits = {});

  /// invalid_argument if method, target or headers can't go on a wire.
  Task<Status> send_head(ClientHead head);
  /// Head and body, nothing for an empty one, in one piece; head.body and head.length are set by it.
  Task<Status> send_whole(ClientHead head, std::string_view body);
  Task<Status> write_body(std::span<const std::byte> bytes);
  /// Ends the body; trailers with a chunked one only.
  Task<Status> finish_body(const Headers& trailers);

  /// Until some byte of an answer is there; false at the end of the connection. Reads nothing of it: it can be cancelled.
  Task<Result<bool>> wait_for_answer();
  /// The next head. Interim answers (1xx but 101) are skipped unless `with_interim`. Errors: unavailable (the connection
  /// ended; `untouched()` tells whether before any byte), invalid_argument (no HTTP).
  Task<Result<ResponseHead>> read_head(bool with_interim = false);
  Task<Result<std::size_t>> read_body(std::span<std::byte> into);
  /// The whole body; resource_exhausted beyond `limit_bytes`.
  Task<Result<std::string>> read_all(std::size_t limit_bytes);
  /// Complete once read_body() returned 0.
  const Headers& trailers() const { return reader_.trailers(); }

  /// Both sides have ended their message and want to go on: the connection may carry another one.
  bool reusable() const;
  /// No byte of an answer has come since send_head().
  bool untouched() const { return untouched_; }
  /// After 101 or a 2xx to CONNECT: the connection as a stream, read-ahead included. The object is spent.
  std::unique_ptr<ByteStream> take_stream();
  void close() { stream_->close(); }

 private:
  /// The head's bytes; the state is of a message that begins.
  Result<std::string> begin_message(const ClientHead& head);

  std::unique_ptr<ByteStream> stream_;
  MessageReader<false> reader_;
  std::optional<BodyWriter> writer_;
  std::string method_;
  bool sent_ = true;
  bool answered_ = false;
  bool wants_close_ = false;
  bool untouched_ = true;
  bool failed_ = false;
};

}  // namespace harena::http
