#include "shim/worker_channel.hpp"

#include <poll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace harena::shim {

bool WorkerChannel::wait(short events) const {
  pollfd poll{socket_, events, 0};
  while (::poll(&poll, 1, -1) < 0) {
    if (errno != EINTR) return false;
  }
  return (poll.revents & events) != 0 || (poll.revents & (POLLERR | POLLHUP)) == 0;
}

WorkerChannel::Wait WorkerChannel::wait_for(int other, int timeout_ms) const {
  std::array<pollfd, 2> polls = {pollfd{other, POLLIN, 0}, pollfd{socket_, POLLRDHUP, 0}};
  int ready = 0;
  while ((ready = ::poll(polls.data(), polls.size(), timeout_ms)) < 0) {
    if (errno != EINTR) return Wait::left;
  }
  if (polls[1].revents != 0) return Wait::left;
  return ready > 0 ? Wait::readable : Wait::timeout;
}

bool WorkerChannel::write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if ((errno != EAGAIN && errno != EINTR) || !wait(POLLOUT)) {
      return false;
    }
  }
  return true;
}

bool WorkerChannel::send(session::FrameType type, std::string_view payload) {
  std::string frame;
  session::append_message(frame, type, payload);
  return write_all(frame);
}

bool WorkerChannel::send_file(int file, std::uint64_t offset, std::size_t length) {
  std::string header;
  session::append_header(header, {static_cast<std::uint32_t>(length), session::FrameType::data, 0, 0});
  if (!write_all(header)) return false;
  auto position = static_cast<off_t>(offset);
  while (length > 0) {
    auto sent = ::sendfile(socket_, file, &position, length);
    if (sent > 0) {
      length -= static_cast<std::size_t>(sent);
      continue;
    }
    if (sent == 0 || (errno != EAGAIN && errno != EINTR) || !wait(POLLOUT)) {
      broken_ = true;
      return false;
    }
  }
  return true;
}

bool WorkerChannel::read_exactly(char* to, std::size_t bytes) {
  auto from_rest = std::min(bytes, rest_.size());
  std::memcpy(to, rest_.data(), from_rest);
  rest_.erase(0, from_rest);
  to += from_rest;
  bytes -= from_rest;
  while (bytes > 0) {
    auto got = ::recv(socket_, to, bytes, 0);
    if (got == 0) return false;
    if (got > 0) {
      to += got;
      bytes -= static_cast<std::size_t>(got);
    } else if ((errno != EAGAIN && errno != EINTR) || !wait(POLLIN)) {
      return false;
    }
  }
  return true;
}

Result<WorkerChannel::Frame> WorkerChannel::receive() {
  Frame frame;
  HARENA_TRY_STATUS(receive_into(frame));
  return frame;
}

Status WorkerChannel::receive_into(Frame& frame) {
  auto left = make_error(ErrorCode::unavailable, "the client has left");
  std::array<char, session::kHeaderBytes> bytes;
  if (!read_exactly(bytes.data(), bytes.size())) return left;
  HARENA_TRY(frame.header, session::parse_header({bytes.data(), bytes.size()}));
  frame.payload.resize(frame.header.length);
  if (!read_exactly(frame.payload.data(), frame.payload.size())) return left;
  return {};
}

}  // namespace harena::shim
