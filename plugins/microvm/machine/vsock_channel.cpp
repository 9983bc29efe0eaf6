#include "plugins/microvm/machine/vsock_channel.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <utility>

#include "plugins/microvm/machine/firecracker_api.hpp"

namespace harena::microvm {
namespace {

constexpr std::int64_t kTickNs = 10'000'000;
/// A guest that doesn't answer within so many ticks is asked anew: a request that came before its driver was ready is lost.
constexpr int kMostTicks = 100;
constexpr std::size_t kMostAnswerBytes = 32;

}  // namespace

VsockChannel::~VsockChannel() {
  drop();
  if (watched_) loop_.unwatch(watched_.get());
}

Status VsockChannel::start(std::function<void(UniqueFd)> handler) {
  handler_ = std::move(handler);
  return ticker_.start(kTickNs, [this] { try_again(); });
}

void VsockChannel::drop() {
  if (socket_) loop_.unwatch(socket_.get());
  socket_.reset();
  answer_.clear();
  ticks_ = 0;
}

void VsockChannel::try_again() {
  if (socket_ && ++ticks_ < kMostTicks) return;
  drop();
  connect();
}

void VsockChannel::connect() {
  auto socket = connect_in_folder(folder_.get(), name_);
  if (!socket.ok()) return;
  const std::string text = "CONNECT " + std::to_string(port_) + "\n";
  if (::send(socket->get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) != static_cast<ssize_t>(text.size())) return;
  socket_ = *std::move(socket);
  if (!loop_.watch(socket_.get(), EPOLLIN, [this](std::uint32_t) { read_answer(); }).ok()) drop();
}

void VsockChannel::read_answer() {
  while (true) {
    char byte = 0;  // one by one: what comes behind the line is the guest's
    const ssize_t got = ::recv(socket_.get(), &byte, 1, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0 || answer_.size() > kMostAnswerBytes) return drop();
    if (byte == '\n') break;
    answer_ += byte;
  }
  if (answer_.starts_with("OK ")) return deliver();
  drop();
}

void VsockChannel::deliver() {
  loop_.unwatch(socket_.get());
  UniqueFd connection = std::move(socket_);
  drop();
  if (watched_) loop_.unwatch(watched_.get());
  watched_ = UniqueFd(::fcntl(connection.get(), F_DUPFD_CLOEXEC, 3));
  if (!watched_) return;
  ticker_.stop();
  const auto on_end = [this](std::uint32_t) {
    loop_.unwatch(watched_.get());
    watched_.reset();
    (void)ticker_.start(kTickNs, [this] { try_again(); });
  };
  if (!loop_.watch(watched_.get(), EPOLLRDHUP, on_end).ok()) return;
  handler_(std::move(connection));
}

}  // namespace harena::microvm
