#include "sdk/conformance/session_line.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <array>
#include <cerrno>

#include "sdk/session/hello.hpp"

namespace harena::conformance {

using session::FrameType;

namespace {

constexpr time_t kPatienceS = 120;

}  // namespace

Result<SessionLine> SessionLine::connect(const std::string& endpoint) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (endpoint.size() >= sizeof address.sun_path) return make_error(ErrorCode::invalid_argument, "session_endpoint '" + endpoint + "' is longer than a socket's path may be");
  endpoint.copy(address.sun_path, sizeof address.sun_path - 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return errno_error(errno, "socket");
  const timeval patience{kPatienceS, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return errno_error(errno, "connect to " + endpoint);
  SessionLine line(std::move(socket));
  HARENA_TRY_STATUS(line.send(FrameType::hello, session::encode(session::Hello{})));
  HARENA_TRY(auto greeting, line.expect(FrameType::hello_ok));
  return line;
}

Status SessionLine::send(FrameType type, std::string_view payload) {
  std::string bytes;
  session::append_message(bytes, type, payload);
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t part = ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (part <= 0) return errno_error(errno, "send to the session endpoint");
    sent += static_cast<std::size_t>(part);
  }
  return {};
}

Status SessionLine::receive_bytes(char* buffer, std::size_t size) {
  while (size > 0) {
    const ssize_t part = ::recv(socket_.get(), buffer, size, 0);
    if (part == 0) return make_error(ErrorCode::unavailable, "the session endpoint closed the connection");
    if (part < 0) return errno_error(errno, "receive from the session endpoint");
    buffer += part;
    size -= static_cast<std::size_t>(part);
  }
  return {};
}

Result<SessionLine::Frame> SessionLine::receive() {
  std::array<char, session::kHeaderBytes> head;
  HARENA_TRY_STATUS(receive_bytes(head.data(), head.size()));
  HARENA_TRY(auto header, session::parse_header({head.data(), head.size()}));
  Frame frame{header.type, std::string(header.length, '\0')};
  HARENA_TRY_STATUS(receive_bytes(frame.payload.data(), frame.payload.size()));
  if (frame.type == FrameType::error) return session::decode_error(frame.payload);
  return frame;
}

Result<SessionLine::Frame> SessionLine::expect(FrameType type) {
  HARENA_TRY(auto frame, receive());
  if (frame.type == type) return frame;
  return make_error(ErrorCode::internal, "the session endpoint sent " + session::to_string(frame.type) + " where " + session::to_string(type) + " is right");
}

Status SessionLine::write_file(const std::string& path, unsigned mode, std::string_view content) {
  session::FileWriteRequest request;
  request.path = path;
  request.mode = mode;
  HARENA_TRY_STATUS(send(FrameType::file_write, session::encode(request)));
  HARENA_TRY(auto ready, expect(FrameType::ready));
  constexpr std::size_t kPart = 256 << 10;
  for (std::size_t at = 0; at < content.size(); at += kPart) HARENA_TRY_STATUS(send(FrameType::data, content.substr(at, kPart)));
  HARENA_TRY_STATUS(send(FrameType::data_end, {}));
  HARENA_TRY(auto done, expect(FrameType::ok));
  return {};
}

Result<LineResult> SessionLine::run(std::vector<std::string> argv) {
  session::StartRequest request;
  request.argv = std::move(argv);
  request.attach = true;
  HARENA_TRY_STATUS(send(FrameType::start, session::encode(request)));
  LineResult result;
  for (;;) {
    HARENA_TRY(auto frame, receive());
    if (frame.type == FrameType::ok) return result;
    if (frame.type == FrameType::output_out && frame.payload.size() >= sizeof(std::uint64_t)) result.output += frame.payload.substr(sizeof(std::uint64_t));
    if (frame.type == FrameType::exit) {
      HARENA_TRY(result.exit, session::decode<session::ExitStatus>(frame.payload));
    }
  }
}

}  // namespace harena::conformance
