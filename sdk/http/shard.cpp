#include "sdk/http/shard.hpp"

#include <boost/asio/post.hpp>
#include <poll.h>

#include <vector>

#include "sdk/http/connection.hpp"
#include "sdk/http/socket_stream.hpp"

namespace harena::http {
namespace asio = boost::asio;
namespace {

// A fifth of the second in which a departure must be noticed. One poll(2) for all connections of the loop costs
// about a millisecond for 5,000, and idle servers don't tick.
constexpr std::chrono::milliseconds kTick{200};

}  // namespace

bool ServerCore::enter() {
  std::lock_guard lock(mutex_);
  if (draining) return false;
  ++in_flight_;
  return true;
}

void ServerCore::leave() {
  std::lock_guard lock(mutex_);
  if (--in_flight_ == 0) empty_.notify_all();
}

void ServerCore::wait_until_idle(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  empty_.wait_until(lock, deadline, [&] { return in_flight_ == 0; });
}

bool ServerCore::wait_until_empty(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return empty_.wait_until(lock, deadline, [&] { return connections == 0; });
}

void ServerCore::connection_ended() {
  std::lock_guard lock(mutex_);
  if (--connections == 0) empty_.notify_all();
}

Shard::Shard(asio::io_context& loop, std::shared_ptr<ServerCore> core)
    : loop_(loop), core_(std::move(core)), timer_(loop) {}

void Shard::serve_soon(UniqueFd take_fd, std::shared_ptr<TlsContext> tls) {
  auto fd = std::make_shared<UniqueFd>(std::move(take_fd));
  asio::post(loop_, [self = shared_from_this(), fd, tls] { self->serve(std::move(*fd), tls); });
}

void Shard::drain_soon() {
  asio::post(loop_, [self = shared_from_this()] {
    const std::vector<Connection*> all(self->connections_.begin(), self->connections_.end());
    for (auto* connection : all) connection->drain();
  });
}

void Shard::close_idle_soon() {
  asio::post(loop_, [self = shared_from_this()] {
    const std::vector<Connection*> all(self->connections_.begin(), self->connections_.end());
    for (auto* connection : all) connection->close_idle();
  });
}

void Shard::cancel_soon() {
  asio::post(loop_, [self = shared_from_this()] {
    const std::vector<Connection*> all(self->connections_.begin(), self->connections_.end());
    for (auto* connection : all) connection->cancel();
  });
}

void Shard::serve(UniqueFd take_fd, std::shared_ptr<TlsContext> tls) {
  auto socket = adopt_socket(loop_.get_executor(), std::move(take_fd));
  if (!socket.ok()) return core_->connection_ended();
  auto connection = std::make_shared<Connection>(shared_from_this(), std::move(*socket), std::move(tls));
  connections_.insert(connection.get());
  Connection::launch(std::move(connection));
  if (!ticking_) start_ticking();
}

void Shard::ended(Connection* connection) {
  connections_.erase(connection);
  core_->connection_ended();
}

const std::string& Shard::http_date() {
  const auto now = std::time(nullptr);
  if (now == date_at_) return date_;
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[40];
  const auto size = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
  date_.assign(text, size);
  date_at_ = now;
  return date_;
}

void Shard::start_ticking() {
  ticking_ = true;
  timer_.expires_after(kTick);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& code) {
    if (const auto self = weak.lock(); self && !code) self->tick();
  });
}

void Shard::tick() {
  ticking_ = false;
  if (connections_.empty()) return;
  const std::vector<Connection*> all(connections_.begin(), connections_.end());
  std::vector<pollfd> polled;
  polled.reserve(all.size());
  for (const auto* connection : all) polled.push_back({connection->watched_fd(), POLLRDHUP, 0});
  ::poll(polled.data(), polled.size(), 0);
  const auto now = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (connections_.count(all[i]) != 0) all[i]->tick(now, polled[i].revents);
  }
  start_ticking();
}

}  // namespace harena::http
