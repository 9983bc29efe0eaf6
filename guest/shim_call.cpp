#include "guest/shim_call.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "guest/sandbox_builder.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/session/hello.hpp"

namespace harena::guest {
namespace {

using namespace session;

constexpr timeval kPatience{5, 0};

Error gone(const char* what) {
  return infrastructure_error(ErrorCode::unavailable, "shim", std::string("the shim ") + what + ": " + std::strerror(errno));
}

Result<UniqueFd> connect_to_shim() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, kShimSocket);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return gone("doesn't accept");
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  return socket;
}

Status fill(int socket, std::string& in, std::size_t bytes) {
  std::array<char, 4096> buffer;
  while (in.size() < bytes) {
    const auto count = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (count <= 0) return gone("doesn't answer");
    in.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return {};
}

}  // namespace

Status tell_shim(FrameType type, const std::string& payload) {
  HARENA_TRY(UniqueFd socket, connect_to_shim());
  std::string out;
  append_message(out, FrameType::hello, encode(Hello{}));
  append_message(out, type, payload);
  if (::send(socket.get(), out.data(), out.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(out.size())) return gone("doesn't take a request");
  for (std::string in;;) {
    HARENA_TRY_STATUS(fill(socket.get(), in, kHeaderBytes));
    HARENA_TRY(auto header, parse_header(in));
    HARENA_TRY_STATUS(fill(socket.get(), in, kHeaderBytes + header.length));
    if (header.type == FrameType::ok) return {};
    if (header.type == FrameType::error) return decode_error(std::string_view(in).substr(kHeaderBytes, header.length));
    in.erase(0, kHeaderBytes + header.length);
  }
}

}  // namespace harena::guest
