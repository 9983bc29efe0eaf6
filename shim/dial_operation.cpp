#include "shim/dial_operation.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "shim/dial_relay.hpp"
#include "shim/listeners.hpp"
#include "shim/server.hpp"

namespace harena::shim {
namespace {

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

bool parse_address(const std::string& host, std::uint16_t port, Address& out) {
  auto* v4 = reinterpret_cast<sockaddr_in*>(&out.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&out.storage);
  if (::inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    out.size = sizeof *v4;
    return true;
  }
  if (::inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) != 1) return false;
  v6->sin6_family = AF_INET6;
  v6->sin6_port = htons(port);
  out.size = sizeof *v6;
  return true;
}

UniqueFd tcp_socket(const Address& address) {
  return UniqueFd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
}

/// Only what is the sandbox's own can be bound there: this isn't a way out into its network.
bool is_own(const std::string& host) {
  Address address;
  if (!parse_address(host, 0, address)) return false;
  UniqueFd probe = tcp_socket(address);
  return probe && ::bind(probe.get(), address.get(), address.size) == 0;
}

Error closed_port(const session::DialRequest& request, int error) {
  std::string what = "nothing listens on port " + std::to_string(request.port) + " of " + request.host + " in the sandbox";
  if (error != ECONNREFUSED) what = "connecting to port " + std::to_string(request.port) + " of " + request.host + ": " + std::strerror(error);
  Error result = make_error(ErrorCode::unavailable, what);
  result.cause = Cause::agent;
  result.cause_detail = error == ECONNREFUSED ? "port_closed" : "connect";
  result.retry = Retry::same_node;
  return result;
}

}  // namespace

DialOperation::DialOperation(Connection& connection, session::DialRequest request)
    : Operation(connection), request_(std::move(request)) {}

DialOperation::~DialOperation() {
  connection_.loop().forget(watch_);
  connection_.loop().cancel(timer_);
}

void DialOperation::begin() {
  if (request_.port == 0) return connection_.fail(make_error(ErrorCode::invalid_argument, "port 0: 1 to 65535"));
  hosts_ = request_.host == "localhost" ? std::vector<std::string>{"::1", "127.0.0.1"} : std::vector<std::string>{request_.host};
  if (request_.host != "localhost" && !is_own(request_.host)) {
    return connection_.fail(make_error(ErrorCode::invalid_argument, "host '" + request_.host + "' isn't localhost or an address of the sandbox"));
  }
  timer_ = connection_.loop().after_ms(request_.timeout_ms, [this] {
    connection_.fail(make_error(ErrorCode::deadline_exceeded, "port " + std::to_string(request_.port) + " didn't accept within " +
                                                                  std::to_string(request_.timeout_ms) + " ms"));
  });
  try_next();
}

void DialOperation::try_next() {
  connection_.loop().forget(watch_);
  socket_.reset();
  if (hosts_.empty()) add_listeners();
  if (hosts_.empty()) return give_up();
  Address address;
  bool parsed = parse_address(hosts_.back(), request_.port, address);
  hosts_.pop_back();
  socket_ = tcp_socket(address);
  if (!parsed || !socket_) {
    if (last_error_ == 0) last_error_ = errno;
    return try_next();
  }
  if (::connect(socket_.get(), address.get(), address.size) != 0 && errno != EINPROGRESS) {
    if (last_error_ == 0) last_error_ = errno;
    return try_next();
  }
  watch_ = connection_.loop().watch(socket_.get(), EPOLLOUT, [this](std::uint32_t) { on_connected(); });
}

// "localhost" is any address of the sandbox: after the usual two, those where the port is in fact listened on.
void DialOperation::add_listeners() {
  if (request_.host != "localhost" || std::exchange(listeners_added_, true)) return;
  for (auto& address : listening_addresses(request_.port)) {
    if (address != "127.0.0.1" && address != "::1") hosts_.push_back(std::move(address));
  }
  std::reverse(hosts_.begin(), hosts_.end());  // tried from the back
}

void DialOperation::on_connected() {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) {
    // The first one tells: no IPv6 in the sandbox is not what is wrong with a closed port.
    if (last_error_ == 0) last_error_ = error;
    return try_next();
  }
  connection_.loop().forget(watch_);
  int on = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (passes_descriptors(connection_.server().sandbox().options())) return connection_.finish_with_fd(std::move(socket_));
  connection_.loop().cancel(timer_);
  connection_.become(std::make_unique<DialRelay>(connection_, std::move(socket_)));
}

void DialOperation::give_up() { connection_.fail(closed_port(request_, last_error_)); }

}  // namespace harena::shim
