#include "sdk/vmm/control_server.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace harena::vmm {
namespace {

bool of_this_user(int peer) {
  ucred who{};
  socklen_t size = sizeof who;
  return ::getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == ::geteuid();
}

}  // namespace

Result<std::unique_ptr<ControlServer>> ControlServer::listen(EventLoop& loop, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return make_error(ErrorCode::invalid_argument, "the path " + path + " is too long for a socket (107 bytes)");
  std::memcpy(address.sun_path, path.c_str(), path.size());
  std::unique_ptr<ControlServer> server(new ControlServer(loop));
  server->listener_ = UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!server->listener_) return errno_error(errno, "socket");
  ::unlink(path.c_str());
  if (::bind(server->listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return errno_error(errno, "binding " + path);
  if (::chmod(path.c_str(), 0600) != 0 || ::listen(server->listener_.get(), 64) != 0) return errno_error(errno, "listening on " + path);
  HARENA_TRY_STATUS(loop.watch(server->listener_.get(), EPOLLIN, [raw = server.get()](std::uint32_t) { raw->accept(); }));
  return server;
}

ControlServer::~ControlServer() {
  for (const auto& [fd, peer] : peers_) loop_.unwatch(fd);
  if (listener_) loop_.unwatch(listener_.get());
}

void ControlServer::accept() {
  UniqueFd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!peer || !of_this_user(peer.get()) || peers_.size() + requests_.size() >= kMaxControlConnections) return;
  const int fd = peer.get();
  if (loop_.watch(fd, EPOLLIN, [this, fd](std::uint32_t) { on_packet(fd); }).ok()) peers_.emplace(fd, std::move(peer));
}

void ControlServer::on_packet(int fd) {
  std::string text(kMaxControlBytes, '\0');
  const ssize_t got = ::recv(fd, text.data(), text.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  loop_.unwatch(fd);
  auto peer = peers_.extract(fd);
  if (got <= 0) return;
  text.resize(static_cast<std::size_t>(got));
  requests_.push_back({std::move(peer.mapped()), std::move(text)});
}

void ControlServer::serve(const std::function<Result<json>(const json& request)>& verb) {
  Request request = std::move(requests_.front());
  requests_.pop_front();
  const json document = json::parse(request.text, nullptr, false);
  auto done = document.is_object() ? verb(document) : Result<json>(make_error(ErrorCode::invalid_argument, "a request is a JSON object"));
  const json answer = done.ok() ? json{{"ok", *done}} : json{{"error", control_error(done.error())}};
  // Text of a guest may be anything; replaced, not refused.
  const std::string text = answer.dump(-1, ' ', false, json::error_handler_t::replace);
  ::send(request.peer.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

json control_error(const Error& error) {
  std::string message;
  for (auto it = error.context.rbegin(); it != error.context.rend(); ++it) message += *it + ": ";
  return {{"code", to_string(error.code)}, {"message", message + error.message}, {"cause", to_string(error.cause)},
          {"cause_detail", error.cause_detail}, {"retry", to_string(error.retry)}};
}

Error error_of_control(const json& document) {
  Error error = make_error(error_code_from_string(document.value("code", "")).value_or(ErrorCode::internal), document.value("message", "?"));
  error.cause = cause_from_string(document.value("cause", "")).value_or(Cause::none);
  error.cause_detail = document.value("cause_detail", "");
  error.retry = retry_from_string(document.value("retry", "")).value_or(Retry::never);
  return error;
}

}  // namespace harena::vmm
