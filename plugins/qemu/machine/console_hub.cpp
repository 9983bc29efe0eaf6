#include "plugins/qemu/machine/console_hub.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <vector>

#include "sdk/vmm/unix_listener.hpp"

namespace harena::qemu {

Result<std::unique_ptr<ConsoleHub>> ConsoleHub::open(vmm::EventLoop& loop, int line, const std::string& path) {
  std::unique_ptr<ConsoleHub> hub(new ConsoleHub(loop, line));
  HARENA_TRY(hub->listener_, vmm::listen_unix(path));
  HARENA_TRY_STATUS(loop.watch(hub->listener_.get(), EPOLLIN, [raw = hub.get()](std::uint32_t) { raw->accept(); }));
  HARENA_TRY_STATUS(hub->watch_line());
  return hub;
}

ConsoleHub::~ConsoleHub() {
  for (const auto& [fd, peer] : viewers_) loop_.unwatch(fd);
  if (listener_) loop_.unwatch(listener_.get());
  detach();
}

void ConsoleHub::detach() {
  if (line_ >= 0) loop_.unwatch(line_);
  line_ = -1;
}

Status ConsoleHub::watch_line() {
  const std::uint32_t wanted = input_.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT;
  return loop_.watch(line_, wanted, [this](std::uint32_t events) { on_line(events); });
}

Status ConsoleHub::attach(int line) {
  detach();
  line_ = line;
  input_.clear();
  watch_viewers();
  return watch_line();
}

void ConsoleHub::accept() {
  UniqueFd peer = vmm::accept_own(listener_.get());
  if (!peer || viewers_.size() >= kMaxConsoleViewers) return;
  const int fd = peer.get();
  const int room = 1 << 20;
  (void)::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  if (::send(fd, text_.data(), text_.size(), MSG_NOSIGNAL | MSG_DONTWAIT) != static_cast<ssize_t>(text_.size())) return;
  if (loop_.watch(fd, EPOLLIN, [this, fd](std::uint32_t) { on_viewer(fd); }).ok()) viewers_.emplace(fd, std::move(peer));
}

void ConsoleHub::drop(int fd) {
  loop_.unwatch(fd);
  viewers_.erase(fd);
}

bool ConsoleHub::take_output() {
  if (line_ < 0) return false;
  char bytes[16 << 10];
  const ssize_t got = ::recv(line_, bytes, sizeof bytes, MSG_DONTWAIT);
  if (got <= 0) {
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) loop_.unwatch(line_);
    return false;
  }
  text_.append(bytes, static_cast<std::size_t>(got));
  if (text_.size() > kConsoleBytes) text_.erase(0, text_.size() - kConsoleBytes);
  std::vector<int> slow;
  for (const auto& [fd, peer] : viewers_) {
    if (::send(fd, bytes, static_cast<std::size_t>(got), MSG_NOSIGNAL | MSG_DONTWAIT) != got) slow.push_back(fd);
  }
  for (int fd : slow) drop(fd);
  return true;
}

void ConsoleHub::on_line(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) send_input();
  if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) (void)take_output();
}

void ConsoleHub::drain() {
  while (take_output()) {
  }
}

void ConsoleHub::watch_viewers() {
  for (const auto& [other, peer] : viewers_) {
    (void)loop_.watch(other, EPOLLIN, [this, fd = other](std::uint32_t) { on_viewer(fd); });
  }
}

void ConsoleHub::on_viewer(int fd) {
  char bytes[kMaxPendingInput];
  const ssize_t got = ::recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return drop(fd);
  if (line_ < 0) return;  // nobody is there to read it
  input_.append(bytes, static_cast<std::size_t>(got));
  send_input();
  if (input_.size() <= kMaxPendingInput) return;
  for (const auto& [other, peer] : viewers_) loop_.unwatch(other);  // until the guest has taken some
}

void ConsoleHub::send_input() {
  const bool held = input_.size() > kMaxPendingInput;
  const ssize_t sent = ::send(line_, input_.data(), input_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) input_.clear();  // the machine has ended
  if (sent > 0) input_.erase(0, static_cast<std::size_t>(sent));
  (void)watch_line();
  if (held && input_.size() <= kMaxPendingInput) watch_viewers();
}

}  // namespace harena::qemu
