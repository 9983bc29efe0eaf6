#include "sdk/vmm/control_server.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>

#include "sdk/vmm/unix_listener.hpp"

namespace harena::vmm {
Result<std::unique_ptr<ControlServer>> ControlServer::listen(EventLoop& loop, const std::string& path) {
  std::unique_ptr<ControlServer> server(new ControlServer(loop));
  HARENA_TRY(server->listener_, listen_unix(path, SOCK_SEQPACKET));
  HARENA_TRY_STATUS(loop.watch(server->listener_.get(), EPOLLIN, [raw = server.get()](std::uint32_t) { raw->accept(); }));
  return server;
}

ControlServer::~ControlServer() {
  for (const auto& [fd, peer] : peers_) loop_.unwatch(fd);
  if (listener_) loop_.unwatch(listener_.get());
}

void ControlServer::accept() {
  UniqueFd peer = accept_own(listener_.get());
  if (!peer || peers_.size() + requests_.size() >= kMaxControlConnections) return;
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
  pollfd caller{request.peer.get(), 0, 0};
  if (::poll(&caller, 1, 0) > 0 && (caller.revents & POLLHUP) != 0) return;
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
  Error error = make_error(error_code_from_string(document.value("code", "")).value_or(ErrorCode::internal),
      document.value("message", "?"));
  error.cause = cause_from_string(document.value("cause", "")).value_or(Cause::none);
  error.cause_detail = document.value("cause_detail", "");
  error.retry = retry_from_string(document.value("retry", "")).value_or(Retry::never);
  return error;
}

}  // namespace harena::vmm
