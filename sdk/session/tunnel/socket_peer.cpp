#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sdk/session/tunnel/peers.hpp"

namespace harena::session {

SocketPeer::SocketPeer(PeerHost& host, StreamId stream, UniqueFd socket, HangUp hang_up)
    : Peer(host, stream), socket_(std::move(socket)), hang_up_(hang_up) {
  host_.watch(stream_, socket_.get(), events_, true);
}

void SocketPeer::on_events(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) flush();
  if ((events & EPOLLIN) != 0) read_some();
  if ((events & (EPOLLHUP | EPOLLERR)) != 0 && (events & EPOLLIN) == 0) gone();
}

/// Closed in both directions. Nobody takes what comes back.
void SocketPeer::gone() {
  if (!read_done_ && !no_room_) return read_some();
  if (!read_done_ && hang_up_ == HangUp::cancels) return give_up();
  // What it sent is on its way, or waits for room; the end follows. Until then a watch would only tell of the hang-up again.
  host_.unwatch(socket_.get());
  watched_ = false;
  discard_ = true;
  host_.tunnel().consumed(stream_, out_.size() - out_sent_);
  out_.clear();
  out_sent_ = 0;
  if (end_received_ && read_done_) host_.drop(stream_);
}

void SocketPeer::read_some() {
  std::array<char, 64 << 10> buffer;
  static_assert(std::tuple_size_v<decltype(buffer)> >= kStreamBufferBytes);
  const auto room = host_.tunnel().room(stream_);
  no_room_ = room == 0;
  if (!no_room_ && !read_done_) {
    const auto count = ::recv(socket_.get(), buffer.data(), std::min(room, buffer.size()), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count < 0) return give_up();
    if (count == 0) {
      read_done_ = true;
      host_.tunnel().end(stream_);
      if (write_done_ || (discard_ && end_received_)) return host_.drop(stream_);  // the end was the last of the stream
    } else {
      (void)host_.tunnel().send(stream_, {buffer.data(), static_cast<std::size_t>(count)});
      no_room_ = host_.tunnel().room(stream_) == 0;
    }
  }
  update();
}

/// False when the socket is of no use any more.
bool SocketPeer::write_some(std::string_view bytes, std::size_t& written) {
  written = 0;
  while (written < bytes.size()) {
    const auto count = ::send(socket_.get(), bytes.data() + written, bytes.size() - written, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    written += static_cast<std::size_t>(count);
  }
  return true;
}

void SocketPeer::on_data(std::string_view bytes) {
  if (discard_) return host_.tunnel().consumed(stream_, bytes.size());
  std::size_t written = 0;
  if (out_.empty() && !write_some(bytes, written)) return give_up();
  out_.append(bytes.substr(written));
  if (written > 0) host_.tunnel().consumed(stream_, written);
  update();
}

void SocketPeer::flush() {
  std::size_t written = 0;
  if (!write_some(std::string_view(out_).substr(out_sent_), written)) return give_up();
  out_sent_ += written;
  if (written > 0) host_.tunnel().consumed(stream_, written);
  if (out_sent_ == out_.size()) {
    out_.clear();
    out_sent_ = 0;
    after_flush();
  }
  update();
}

void SocketPeer::after_flush() {
  if (!end_received_ || write_done_) return;
  write_done_ = true;
  ::shutdown(socket_.get(), SHUT_WR);
  if (read_done_) host_.drop(stream_);
}

void SocketPeer::on_end() {
  end_received_ = true;
  if (discard_ && read_done_) return host_.drop(stream_);
  if (out_.empty()) after_flush();
}

void SocketPeer::on_writable() {
  no_room_ = false;
  update();
}

void SocketPeer::on_reset(const Error&) { host_.drop(stream_); }

void SocketPeer::give_up() {
  host_.tunnel().reset(stream_, make_error(ErrorCode::cancelled, "the connection was closed"));
  host_.drop(stream_);
}

void SocketPeer::update() {
  std::uint32_t wanted = 0;
  if (!read_done_ && !no_room_) wanted |= EPOLLIN;
  if (!out_.empty()) wanted |= EPOLLOUT;
  if (wanted == events_ && (watched_ || wanted == 0)) return;
  events_ = wanted;
  if (!watched_ && wanted == 0) return;
  host_.watch(stream_, socket_.get(), events_, !std::exchange(watched_, true));
}

}  // namespace harena::session
