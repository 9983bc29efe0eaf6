#pragma once
// One HTTP connection to the server, kept alive between calls. Synchronous. Poco lives behind it.

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/client/endpoint.hpp"

namespace Poco::Net {
class HTTPClientSession;
}

namespace harena::client {

struct Timeouts {
  std::chrono::milliseconds connect{10'000};
  /// Without any sign of life from the server.
  std::chrono::milliseconds read{60'000};
};

struct Request {
  std::string method = "GET";
  /// Behind the base path, percent-encoded, with its query: "/sandboxes?limit=1".
  std::string target;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string content_type;
  std::string body;
  /// In the place of `body`: fills the buffer and returns how much of it, 0 at the end. Sent chunked.
  std::function<Result<std::size_t>(char* buffer, std::size_t size)> source;
  /// 0: the connection's.
  std::chrono::milliseconds read_timeout{0};
};

struct Response {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

/// One call at a time; only `abort` may be called from another thread.
class Connection {
 public:
  /// Gets the bytes of a successful answer as they come; a failure ends the call with that error.
  using Sink = std::function<Status(std::string_view bytes)>;
  using OnHead = std::function<Status(const Response& head)>;

  Connection(Endpoint endpoint, Timeouts timeouts);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// The whole answer. A status of 400 and above is an Error made of its body. Errors of the connection are
  /// `unavailable` or `deadline_exceeded`, cause infrastructure, with kNotSent or kConnectionLost as detail.
  Result<Response> call(const Request& request);

  /// The same, piece by piece; the body of the returned response is empty. An answer that is shorter than its
  /// Content-Length is kConnectionLost. `on_head` may be null; it is called before the first byte.
  Result<Response> stream(const Request& request, const Sink& sink, const OnHead& on_head = nullptr);

  /// Ends the call in progress, which fails. Thread-safe.
  void abort();

  /// A connection of its own that has done nothing yet, for an upgrade (WebSocket, tcp).
  std::unique_ptr<Poco::Net::HTTPClientSession> fresh_session() const;
  const Endpoint& endpoint() const { return endpoint_; }

 private:
  struct State;
  Result<Poco::Net::HTTPClientSession*> ready_session(std::chrono::milliseconds limit);
  Result<Response> receive(Poco::Net::HTTPClientSession& session, const Sink& sink, const OnHead& on_head);
  void drop();
  Endpoint endpoint_;
  Timeouts timeouts_;
  std::unique_ptr<State> state_;
};

}  // namespace harena::client
