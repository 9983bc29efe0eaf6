#include "shim/dial_relay.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace harena::shim {

DialRelay::DialRelay(Connection& connection, UniqueFd socket) : Operation(connection), socket_(std::move(socket)) {
  connection_.send(session::FrameType::ok, {});
  watch_ = connection_.loop().watch(socket_.get(), EPOLLIN, [this](std::uint32_t events) { on_events(events); });
}

DialRelay::~DialRelay() { connection_.loop().forget(watch_); }

void DialRelay::on_frame(const session::FrameHeader& header, std::string_view payload) {
  if (client_ended_ || (header.type != session::FrameType::data && header.type != session::FrameType::data_end)) {
    return Operation::on_frame(header, payload);
  }
  if (header.type == session::FrameType::data_end) {
    client_ended_ = true;
  } else {
    out_.append(payload);
  }
  write_some();
}

void DialRelay::on_writable() { update(); }

void DialRelay::on_events(std::uint32_t events) {
  // One thing a turn: each may be the end of this object.
  if ((events & EPOLLOUT) != 0) return write_some();
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_some();
}

void DialRelay::read_some() {
  std::array<char, 64 << 10> buffer;
  const auto count = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count < 0) return broken(errno);
  if (count > 0) {
    connection_.send(session::FrameType::data, {buffer.data(), static_cast<std::size_t>(count)});
    return update();
  }
  read_done_ = true;
  connection_.send(session::FrameType::data_end, {});
  finish_if_done();
}

void DialRelay::write_some() {
  while (out_sent_ < out_.size()) {
    const auto count = ::send(socket_.get(), out_.data() + out_sent_, out_.size() - out_sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno != EAGAIN) return broken(errno);
    if (count < 0) break;
    out_sent_ += static_cast<std::size_t>(count);
  }
  if (out_sent_ == out_.size()) {
    out_.clear();
    out_sent_ = 0;
    if (client_ended_ && !std::exchange(write_done_, true)) ::shutdown(socket_.get(), SHUT_WR);
  }
  finish_if_done();
}

void DialRelay::finish_if_done() {
  if (read_done_ && write_done_) return connection_.finish();
  update();
}

void DialRelay::update() {
  std::uint32_t events = 0;
  if (!read_done_ && connection_.queued() < Connection::kQueueHigh) events |= EPOLLIN;
  if (!out_.empty()) events |= EPOLLOUT;
  if (read_done_ && events == 0) {
    // Nothing is expected of it: a hang-up would be told again and again.
    connection_.loop().forget(watch_);
  } else if (watch_ == 0) {
    watch_ = connection_.loop().watch(socket_.get(), events, [this](std::uint32_t now) { on_events(now); });
  } else {
    connection_.loop().modify(watch_, events);
  }
  // A client is read no faster than its server takes it.
  if (out_.empty()) {
    if (held_) connection_.resume();
    held_ = false;
  } else if (!std::exchange(held_, true)) {
    connection_.pause();
  }
}

void DialRelay::broken(int error) {
  Error result = make_error(ErrorCode::unavailable, std::string("the connection in the sandbox broke: ") + std::strerror(error));
  result.cause = Cause::agent;
  result.cause_detail = "connect";
  // The client may be sending still: what it sends wouldn't be taken for anything.
  connection_.fail_and_close(result);
}

}  // namespace harena::shim
