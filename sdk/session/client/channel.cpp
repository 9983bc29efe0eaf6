#include "sdk/session/client/channel.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <boost/asio/posix/stream_descriptor.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace harena::session {
namespace {

Error gone(std::string_view how) {
  Error error = infrastructure_error(ErrorCode::unavailable, "session", "the sandbox's session endpoint " + std::string(how));
  error.retry = Retry::same_node;
  return error;
}

/// What a read or write said of the connection, as whose fault it is; a cancellation stays one.
Error lost(Error error) {
  if (error.code == ErrorCode::cancelled) return error;
  return gone("went away (" + error.message + ")");
}

Status checked(Status written) {
  if (written) return written;
  return lost(std::move(written).error());
}

/// Bytes into `buffer`, a descriptor if one came along; -1 with errno.
ssize_t receive_with_fd(int socket, std::span<char> buffer, UniqueFd& fd) {
  iovec part{buffer.data(), buffer.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  auto got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); got > 0 && header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    int number = -1;
    std::memcpy(&number, CMSG_DATA(header), sizeof number);
    fd.reset(number);
  }
  return got;
}

void append_hello(std::string& bytes) {
  Hello hello;
  hello.build = HARENA_VERSION;
  append_message(bytes, FrameType::hello, encode(hello));
}

}  // namespace

Task<Status> Channel::send(FrameType type, std::string_view payload) {
  std::string bytes;
  if (!std::exchange(said_hello_, true)) append_hello(bytes);
  append_message(bytes, type, payload);
  if (is_request(type)) idle_ = false;
  co_return checked(co_await stream_->write(bytes));
}

Task<Status> Channel::send_raw(FrameType type, std::string_view payload) {
  std::string header;
  append_header(header, {static_cast<std::uint32_t>(payload.size()), type, 0, 0});
  const std::array<std::span<const std::byte>, 2> parts = {std::as_bytes(std::span(header)), std::as_bytes(std::span(payload))};
  co_return checked(co_await stream_->write_parts(parts));
}

void Channel::widen() {
  constexpr int kBulkBytes = 1 << 20;
  // Beyond wmem_max with the daemon's rights over the network; else up to it.
  if (::setsockopt(stream_->poll_fd(), SOL_SOCKET, SO_SNDBUFFORCE, &kBulkBytes, sizeof kBulkBytes) == 0) return;
  (void)::setsockopt(stream_->poll_fd(), SOL_SOCKET, SO_SNDBUF, &kBulkBytes, sizeof kBulkBytes);
}

Task<Result<std::size_t>> Channel::receive_data(std::span<std::byte> into) {
  while (rest_ == 0) {
    // The header alone as far as possible: what is read along with it is copied once more.
    room_ = kIdleRoomBytes;
    HARENA_CO_TRY_STATUS(co_await fill(kHeaderBytes));
    HARENA_CO_TRY(auto header, parse_header(std::string_view(in_).substr(used_)));
    if (header.type != FrameType::data) co_return std::size_t{0};
    used_ += kHeaderBytes;
    rest_ = header.length;
    rest_type_ = header.type;
  }
  auto ahead = std::min({rest_, in_.size() - used_, into.size()});
  std::memcpy(into.data(), in_.data() + used_, ahead);
  used_ += ahead;
  rest_ -= ahead;
  if (ahead > 0) co_return ahead;
  auto got = co_await stream_->read(into.first(std::min(rest_, into.size())));
  if (!got) co_return lost(std::move(got).error());
  if (*got == 0) co_return gone("closed the connection");
  rest_ -= *got;
  co_return *got;
}

Task<Status> Channel::fill(std::size_t bytes) {
  if (used_ == in_.size() && in_.capacity() > 2 * room_) std::string().swap(in_), used_ = 0;
  if (used_ > 0 && (used_ == in_.size() || used_ >= kPartBytes)) in_.erase(0, std::exchange(used_, 0));
  while (in_.size() - used_ < bytes) {
    std::size_t before = in_.size();
    std::size_t want = std::max(room_, bytes - (before - used_));
    in_.resize(before + want);
    auto got = co_await stream_->read(std::as_writable_bytes(std::span(in_.data() + before, want)));
    in_.resize(before + (got ? *got : 0));
    if (!got) co_return lost(std::move(got).error());
    if (*got == 0) co_return gone("closed the connection");
    if (*got == want) room_ = kPartBytes;
    if (*got < kIdleRoomBytes) room_ = kIdleRoomBytes;
  }
  co_return ok_status();
}

Status Channel::take_hello(const ReceivedFrame& frame) {
  if (frame.type == FrameType::error) return decode_error(frame.payload);
  if (frame.type != FrameType::hello_ok) return gone("answered hello with '" + to_string(frame.type) + "'");
  HARENA_TRY(peer_, decode<HelloOk>(frame.payload));
  greeted_ = true;
  return {};
}

Task<Result<ReceivedFrame>> Channel::receive_part(FrameType type) {
  // The offset in front of output stays in one piece.
  HARENA_CO_TRY_STATUS(co_await fill(std::min<std::size_t>(rest_, sizeof(std::uint64_t))));
  ReceivedFrame frame;
  frame.type = type;
  auto part = std::min({rest_, in_.size() - used_, kPartBytes});
  frame.payload.assign(in_, used_, part);
  used_ += part;
  rest_ -= part;
  rest_type_ = type;
  co_return frame;
}

Task<Result<ReceivedFrame>> Channel::receive_raw() {
  if (rest_ > 0) {
    HARENA_CO_TRY(auto frame, co_await receive_part(rest_type_));
    frame.continued = true;
    co_return frame;
  }
  for (;;) {
    HARENA_CO_TRY_STATUS(co_await fill(kHeaderBytes));
    HARENA_CO_TRY(auto header, parse_header(std::string_view(in_).substr(used_)));
    if (is_raw(header.type)) {
      used_ += kHeaderBytes;
      rest_ = header.length;
      co_return co_await receive_part(header.type);
    }
    HARENA_CO_TRY_STATUS(co_await fill(kHeaderBytes + header.length));
    ReceivedFrame frame;
    frame.type = header.type;
    auto payload = std::string_view(in_).substr(used_ + kHeaderBytes, header.length);
    HARENA_CO_TRY(const bool whole, assembler_.add(header, payload));
    if (whole) frame.payload = assembler_.take();
    used_ += kHeaderBytes + header.length;
    bool ignored = (header.flags & kFlagMayIgnore) != 0 && to_string(header.type).starts_with("0x");
    if (whole && !ignored && header.type != FrameType::pong && header.type != FrameType::window) co_return frame;
  }
}

Task<Status> Channel::greet() {
  if (greeted_) co_return ok_status();
  if (!std::exchange(said_hello_, true)) {
    std::string bytes;
    append_hello(bytes);
    HARENA_CO_TRY_STATUS(checked(co_await stream_->write(bytes)));
  }
  HARENA_CO_TRY(auto frame, co_await receive_raw());
  co_return take_hello(frame);
}

Task<Status> Channel::require(std::string_view feature) {
  HARENA_CO_TRY_STATUS(co_await greet());
  if (std::find(peer_.features.begin(), peer_.features.end(), feature) != peer_.features.end()) co_return ok_status();
  co_return make_error(ErrorCode::unimplemented, "the session endpoint of this sandbox (build '" + peer_.build +
                                                     "') doesn't have the feature '" + std::string(feature) +
                                                     "'; a sandbox that is created now has what this release has");
}

Task<Result<ReceivedFrame>> Channel::receive() {
  HARENA_CO_TRY(auto frame, co_await receive_raw());
  if (!greeted_) {
    HARENA_CO_TRY_STATUS(take_hello(frame));
    HARENA_CO_TRY(frame, co_await receive_raw());
  }
  if (frame.type == FrameType::ok) idle_ = true;
  if (frame.type != FrameType::error) co_return frame;
  idle_ = true;
  co_return decode_error(frame.payload);
}

Task<Result<std::string>> Channel::receive_ok() {
  HARENA_CO_TRY(auto frame, co_await receive());
  if (frame.type != FrameType::ok) co_return gone("sent '" + to_string(frame.type) + "' instead of 'ok'");
  co_return std::move(frame.payload);
}

Task<Status> Channel::fill_with_fd(std::size_t bytes, UniqueFd& fd) {
  auto executor = co_await boost::asio::this_coro::executor;
  // A duplicate to wait on: the stream keeps its own registration.
  boost::asio::posix::stream_descriptor waiter(executor, ::fcntl(stream_->poll_fd(), F_DUPFD_CLOEXEC, 3));
  while (in_.size() - used_ < bytes) {
    co_await waiter.async_wait(boost::asio::posix::stream_descriptor::wait_read, boost::asio::use_awaitable);
    std::string buffer(4096, 0);
    auto got = receive_with_fd(stream_->poll_fd(), buffer, fd);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) co_return gone("closed the connection");
    in_.append(buffer.data(), static_cast<std::size_t>(got));
  }
  co_return ok_status();
}

Task<Result<UniqueFd>> Channel::receive_ok_with_fd() {
  if (stream_->poll_fd() < 0) co_return make_error(ErrorCode::unimplemented, "dial needs a Unix socket to the endpoint");
  UniqueFd fd;
  // By hand up to the final frame: the descriptor comes with its bytes. Behind an unanswered hello it is the second one.
  std::size_t ahead = 0;
  for (int frames = greeted_ ? 1 : 2; frames > 0; --frames) {
    HARENA_CO_TRY_STATUS(co_await fill_with_fd(ahead + kHeaderBytes, fd));
    HARENA_CO_TRY(auto header, parse_header(std::string_view(in_).substr(used_ + ahead)));
    ahead += kHeaderBytes + header.length;
    HARENA_CO_TRY_STATUS(co_await fill_with_fd(ahead, fd));
  }
  HARENA_CO_TRY_STATUS(co_await receive_ok());
  if (!fd && std::find(peer_.features.begin(), peer_.features.end(), kFeatureDialFd) != peer_.features.end()) {
    co_return gone("answered dial without a socket");
  }
  co_return fd;
}

bool Channel::reusable() const {
  if (!idle_ || !greeted_ || used_ != in_.size() || stream_->poll_fd() < 0) return false;
  char byte;
  auto got = ::recv(stream_->poll_fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && errno == EAGAIN;
}

}  // namespace harena::session
