#include "sdk/http/server.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <future>

#include "sdk/http/error.hpp"
#include "sdk/http/listener.hpp"
#include "sdk/http/shard.hpp"
#include "sdk/http/tls.hpp"

namespace harena::http {
namespace asio = boost::asio;
namespace {

// One listening socket: its accept loop and the way to end it.
struct Acceptor {
  explicit Acceptor(asio::io_context& on) : loop(on) {}
  asio::io_context& loop;
  asio::cancellation_signal signal;
  std::promise<void> ended;
};

// What closed connections have to send what is left and to hear the other side's end.
constexpr std::chrono::milliseconds kClosing{500};

// Too many: said at once and without waiting, whether it arrives or not.
void refuse_connection(UniqueFd fd) {
  constexpr std::string_view kAnswer =
      "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\nRetry-After: 1\r\n\r\n";
  (void)::send(fd.get(), kAnswer.data(), kAnswer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace

struct Server::Impl {
  std::shared_ptr<ServerCore> core = std::make_shared<ServerCore>();
  std::vector<std::shared_ptr<Shard>> shards;
  std::vector<std::unique_ptr<Acceptor>> acceptors;
  std::vector<std::uint16_t> ports;
  std::atomic<std::size_t> next_shard{0};
  std::once_flag accepting_ended;

  void accept_on(asio::io_context& loop, UniqueFd fd, std::shared_ptr<TlsContext> tls) {
    acceptors.push_back(std::make_unique<Acceptor>(loop));
    auto* const acceptor = acceptors.back().get();
    auto take = [this, tls = std::move(tls)](UniqueFd accepted) { assign(std::move(accepted), tls); };
    auto ended = [acceptor](const std::exception_ptr&) { acceptor->ended.set_value(); };
    asio::co_spawn(loop, accept_loop(std::move(fd), std::move(take)),
                   asio::bind_cancellation_slot(acceptor->signal.slot(), std::move(ended)));
  }

  void assign(UniqueFd fd, const std::shared_ptr<TlsContext>& tls) {
    if (core->connections >= core->options.max_connections) return refuse_connection(std::move(fd));
    ++core->connections;
    shards[next_shard++ % shards.size()]->serve_soon(std::move(fd), tls);
  }

  void stop_accepting() {
    for (auto& acceptor : acceptors) {
      asio::post(acceptor->loop, [raw = acceptor.get()] { raw->signal.emit(asio::cancellation_type::terminal); });
    }
    for (auto& acceptor : acceptors) acceptor->ended.get_future().wait();
    for (const auto& where : core->options.unix_sockets) ::unlink(where.path.c_str());
  }
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Server>> Server::start(IoThreads& io, ServerOptions options, Handler handler) {
  auto impl = std::make_unique<Impl>();
  std::vector<BoundTcp> tcp;
  std::vector<UniqueFd> local;
  for (const auto& where : options.tcp) {
    HARENA_TRY(auto bound, listen_tcp(where));
    impl->ports.push_back(bound.port);
    tcp.push_back(std::move(bound));
  }
  for (const auto& where : options.unix_sockets) {
    HARENA_TRY(auto fd, listen_unix(where));
    local.push_back(std::move(fd));
  }
  impl->core->options = std::move(options);
  impl->core->handler = std::move(handler);
  for (std::size_t i = 0; i < io.size(); ++i) {
    impl->shards.push_back(std::make_shared<Shard>(io.at(i), impl->core));
  }
  for (std::size_t i = 0; i < tcp.size(); ++i) {
    impl->accept_on(io.next(), std::move(tcp[i].fd), impl->core->options.tcp[i].tls);
  }
  for (auto& fd : local) impl->accept_on(io.next(), std::move(fd), nullptr);
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::~Server() { stop(std::chrono::milliseconds(0)); }

std::uint16_t Server::port(std::size_t i) const { return impl_->ports.at(i); }

std::size_t Server::connections() const { return impl_->core->connections; }

namespace {

/// Files pass here: fewer turns of two threads for each of their blocks. Held only while it is filled.
void widen(int fd) {
  constexpr int kBulkBytes = 1 << 20;
  // Beyond wmem_max with the daemon's rights over the network; else up to it.
  if (::setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &kBulkBytes, sizeof kBulkBytes) == 0) return;
  (void)::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kBulkBytes, sizeof kBulkBytes);
}

}  // namespace

Result<UniqueFd> Server::connect() {
  auto& core = *impl_->core;
  if (core.draining) return stopping_error();
  if (core.connections >= core.options.max_connections) {
    auto error = make_error(ErrorCode::resource_exhausted,
                            "the server has its " + std::to_string(core.options.max_connections) + " connections");
    error.cause = Cause::limit;
    error.cause_detail = "max_connections";
    error.retry = Retry::same_node;
    return error;
  }
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return errno_error(errno, "making a connection in process");
  }
  widen(ends[0]);
  widen(ends[1]);
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  impl_->assign(std::move(ours), nullptr);
  return theirs;
}

void Server::stop(std::chrono::milliseconds deadline) {
  using Clock = std::chrono::steady_clock;
  auto& core = *impl_->core;
  const auto until = Clock::now() + deadline;
  core.draining = true;
  for (auto& shard : impl_->shards) shard->drain_soon();
  // Meanwhile who comes is told why and when to come again, which a closed port wouldn't.
  core.wait_until_idle(until);
  std::call_once(impl_->accepting_ended, [&] { impl_->stop_accepting(); });
  for (auto& shard : impl_->shards) shard->close_idle_soon();
  if (core.wait_until_empty(std::min(until, Clock::now() + kClosing))) return;
  // A handler may catch its cancellation and wait for something else, so it is told again.
  do {
    for (auto& shard : impl_->shards) shard->cancel_soon();
  } while (!core.wait_until_empty(Clock::now() + std::chrono::milliseconds(100)));
}

}  // namespace harena::http
