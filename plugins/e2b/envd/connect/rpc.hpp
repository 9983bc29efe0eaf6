#pragma once
// Rpc: one call of the Connect protocol, unary or streaming, in JSON or protobuf, gzip where it is asked for.
//
//   process::ListRequest request;
//   HARENA_CO_TRY_STATUS(co_await rpc.receive(request));
//   co_return co_await rpc.answer(response);                  // unary; a stream: send() as often as needed
//
// The surprising rule: the error of a stream is its last envelope under status 200, never a status of its own.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "plugins/e2b/envd/connect/codec.hpp"
#include "plugins/e2b/envd/connect/envelope.hpp"
#include "sdk/http/async_mutex.hpp"
#include "sdk/http/request.hpp"
#include "sdk/http/response_writer.hpp"

namespace harena::e2b {

/// Every keepalive that a client can ask for is at least so long, in seconds; the default is theirs.
inline constexpr std::chrono::seconds kDefaultKeepalive{90};

class Rpc {
 public:
  /// Borrows both.
  Rpc(http::Request& request, http::ResponseWriter& response) : request_(request), response_(response) {}

  /// Reads the call's headers. Errors say what is wrong with which; an answer to them is already possible.
  Status open();
  /// Whether the request's content type is one of ours; 415 belongs to any other.
  bool known_type() const { return content_kind(request_.header("Content-Type").value_or("")).has_value(); }
  bool streaming() const { return kind_.streaming; }
  /// Connect-Timeout-Ms; nullopt: none.
  std::optional<std::chrono::milliseconds> timeout() const { return timeout_; }
  /// Keepalive-Ping-Interval.
  std::chrono::seconds keepalive() const { return keepalive_; }

  /// The one message of a unary call or of a server's stream.
  http::Task<Status> receive(google::protobuf::Message& message);
  /// The next message of a client's stream; false at its end.
  http::Task<Result<bool>> receive_next(google::protobuf::Message& message);

  /// The answer of a unary call.
  http::Task<Status> answer(const google::protobuf::Message& message);
  /// One message of a stream, out at once. Two may be sent at a time. cancelled after settle(): the message is held for the end.
  http::Task<Status> send(const google::protobuf::Message& message);
  /// A message that goes out along with the next one or the end, at the latest with flush().
  Status hold(const google::protobuf::Message& message);
  http::Task<Status> flush();
  /// Waits for what is just going out; from then on all is held for the end, so that nothing is cut whoever is called off.
  http::Task<void> settle();
  /// Whether send() was called: before, a client expects no keepalive.
  bool begun() const { return response_.begun(); }
  /// The end of a stream, or the error of either kind.
  http::Task<Status> end(Status outcome);

 private:
  Status open_timeout();
  Status open_compression();
  http::Headers stream_headers();
  http::Task<Status> write(std::string_view bytes);
  /// Appends the message's envelope.
  Status enclose(const google::protobuf::Message& message, std::string& out) const;
  http::Task<Result<std::optional<Envelope>>> next_envelope();
  Result<std::string> plain(Envelope envelope) const;

  http::Request& request_;
  http::ResponseWriter& response_;
  ContentKind kind_;
  bool gzip_in_ = false;
  bool gzip_out_ = false;
  std::optional<std::chrono::milliseconds> timeout_;
  std::chrono::seconds keepalive_ = kDefaultKeepalive;
  EnvelopeReader reader_;
  http::AsyncMutex mutex_;
  bool settled_ = false;
  std::string held_;
  /// A write was cancelled in its middle: nothing may follow.
  bool torn_ = false;
};

}  // namespace harena::e2b
