#pragma once
// Server: listens on TCP and Unix sockets and gives each request to a handler coroutine.
//
//   IoThreads io(2);
//   ServerOptions options;
//   options.tcp = {{"127.0.0.1", 0}};
//   auto server = Server::start(io, options, router.handler());
//   ... (*server)->port() ...
//   (*server)->stop(std::chrono::seconds(10));
//
// The surprising rule: a handler runs on an I/O loop that it shares with thousands of others, so it must never block;
// file systems, databases and plugins go through blocking() in task.hpp.

#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/http/io_threads.hpp"
#include "sdk/http/request.hpp"
#include "sdk/http/response_writer.hpp"
#include "sdk/http/task.hpp"

namespace harena::http {

class TlsContext;

/// Answers one request. An error that is returned (or an exception: internal) before the answer has begun becomes
/// the answer (error.hpp); after that the connection is broken off. Returning OK without an answer is internal.
/// When the client has gone the coroutine is cancelled: what it waits for fails and every later co_await throws.
using Handler = std::function<Task<Status>(Request&, ResponseWriter&)>;

/// One finished request, for logs and metrics. Valid during the call.
struct Exchange {
  const Request& request;
  /// 0 if none was sent.
  int status;
  /// What the handler returned or threw; null if OK.
  const Error* error;
  std::chrono::nanoseconds duration;
  bool client_gone;
};

struct TcpListen {
  /// An address, not a name: "0.0.0.0", "::1".
  std::string address;
  /// 0: any free one, see Server::port().
  std::uint16_t port = 0;
  /// HTTPS if set.
  std::shared_ptr<TlsContext> tls;
};

struct UnixListen {
  /// At most 107 bytes. A socket left there by a dead process is replaced; a live one is already_exists.
  std::filesystem::path path;
  std::uint32_t mode = 0600;
};

struct ServerOptions {
  std::vector<TcpListen> tcp;
  std::vector<UnixListen> unix_sockets;

  std::size_t max_connections = 10000;  ///< one more is answered 503 and closed
  std::size_t max_header_bytes = 32 * 1024;  ///< more is answered 431
  std::size_t max_header_count = 128;
  /// From the first byte of a request to the end of its header; also the wait for a connection's first byte.
  std::chrono::milliseconds header_timeout{15'000};
  /// Between requests on a kept-alive connection.
  std::chrono::milliseconds idle_timeout{75'000};
  /// A client that accepts no byte of an answer for so long is gone. Slow readers are welcome.
  std::chrono::milliseconds write_stall_timeout{600'000};
  /// A client that has sent FIN is taken for gone after this; it may also be one that half-closed and waits for its
  /// answer, and gets it if it comes in this time. Must be under 1 s to keep the promise of noticing.
  std::chrono::milliseconds half_close_grace{500};

  /// Called after each request, on its loop; must not block.
  std::function<void(const Exchange&)> on_exchange;
};

class Server {
 public:
  /// Binds and starts. Borrows `io`, which must outlive the server. Errors: invalid_argument (address, path),
  /// already_exists (a live Unix socket), unavailable (address in use), permission_denied.
  static Result<std::unique_ptr<Server>> start(IoThreads& io, ServerOptions options, Handler handler);
  /// stop(0).
  ~Server();

  /// Of the i-th TCP listener.
  std::uint16_t port(std::size_t i = 0) const;
  std::size_t connections() const;

  /// One end of a socket pair whose other end is served like an accepted connection, without TLS: HTTP in process. Connected,
  /// CLOEXEC, non-blocking; closing it is the client's departure. Thread-safe, doesn't block. Errors: unavailable when the
  /// server is being stopped, resource_exhausted without descriptors or connections left.
  Result<UniqueFd> connect();

  /// Requests in flight have `deadline` to end; those whose answer can be gone on with later (set_last_words) end at once;
  /// new ones are answered 503 `draining`. Then no connection is accepted any more, idle ones are closed, and what
  /// still runs is cancelled, with that same 503 where no answer has begun. Returns when all handlers have ended. Idempotent, thread-safe; never call it on an I/O thread.
  void stop(std::chrono::milliseconds deadline);

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace harena::http
