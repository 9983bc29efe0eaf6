#pragma once
// The connections of one server on one I/O loop, and the tick that watches over them. Internal to sdk/http.

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <ctime>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

#include "sdk/base/unique_fd.hpp"
#include "sdk/http/server.hpp"

namespace harena::http {

class Connection;

/// What all connections of a server share.
struct ServerCore {
  ServerOptions options;
  Handler handler;
  std::atomic<bool> draining{false};
  std::atomic<std::size_t> connections{0};

  /// A request begins; false, and it doesn't, once the server drains.
  bool enter();
  void leave();
  /// Waits until no request is in flight, at most until `deadline`.
  void wait_until_idle(std::chrono::steady_clock::time_point deadline);
  /// Waits until no connection is left, at most until `deadline`; true if so.
  bool wait_until_empty(std::chrono::steady_clock::time_point deadline);
  void connection_ended();

 private:
  std::mutex mutex_;
  std::condition_variable empty_;
  std::size_t in_flight_ = 0;
};

/// All but the constructor and the *_soon functions run on the loop.
class Shard : public std::enable_shared_from_this<Shard> {
 public:
  Shard(boost::asio::io_context& loop, std::shared_ptr<ServerCore> core);

  /// Takes an accepted socket; thread-safe. The connection was counted by the caller.
  void serve_soon(UniqueFd take_fd, std::shared_ptr<TlsContext> tls);
  /// Ends what can be gone on with elsewhere; thread-safe.
  void drain_soon();
  /// Closes what idles; thread-safe.
  void close_idle_soon();
  /// Cancels everything; thread-safe.
  void cancel_soon();

  boost::asio::io_context& loop() { return loop_; }
  ServerCore& core() { return *core_; }
  /// Set while the server drains; outlives the server.
  std::shared_ptr<const std::atomic<bool>> drain_flag() const { return {core_, &core_->draining}; }
  void ended(Connection* connection);
  /// The Date of answers, made once a second.
  const std::string& http_date();

 private:
  void serve(UniqueFd take_fd, std::shared_ptr<TlsContext> tls);
  void start_ticking();
  void tick();

  boost::asio::io_context& loop_;
  std::shared_ptr<ServerCore> core_;
  std::unordered_set<Connection*> connections_;
  boost::asio::steady_timer timer_;
  bool ticking_ = false;
  std::time_t date_at_ = 0;
  std::string date_;
};

}  // namespace harena::http
