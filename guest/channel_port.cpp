#include "guest/channel_port.hpp"

#include <fcntl.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <linux/vm_sockets.h>  // after sys/socket.h, which it needs
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "sdk/base/text.hpp"
#include "sdk/support/files.hpp"

namespace harena::guest {
namespace {

constexpr const char* kPorts = "/sys/class/virtio-ports";

/// "vport0p1", or empty while there is none.
std::string find_port() {
  auto names = list_directory(AT_FDCWD, kPorts);
  if (!names.ok()) return {};
  for (const auto& name : *names) {
    auto label = read_file_at(AT_FDCWD, std::string(kPorts) + "/" + name + "/name");
    if (label.ok() && label->substr(0, label->find('\n')) == kChannelName) return name;
  }
  return {};
}

void drain(int events) {
  std::array<char, 8192> buffer;
  while (::recv(events, buffer.data(), buffer.size(), MSG_DONTWAIT) > 0) {
  }
}

}  // namespace

Result<UniqueFd> open_device_events() {
  UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = 1;
  if (!socket || ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return errno_error(errno, "listen for devices");
  }
  return socket;
}

Result<UniqueFd> open_channel_port(int device_events) {
  while (true) {
    // The events first: one that comes behind the look isn't lost.
    drain(device_events);
    if (const auto name = find_port(); !name.empty()) {
      UniqueFd port(::open(("/dev/" + name).c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
      if (port) return port;
      if (errno != ENOENT && errno != ENXIO) return errno_error(errno, "open /dev/" + name);
    }
    pollfd wait{device_events, POLLIN, 0};
    ::poll(&wait, 1, -1);
  }
}

Result<std::optional<std::uint32_t>> vsock_port(std::string_view command_line) {
  constexpr std::string_view kWord = "harena.vsock=";
  constexpr std::int64_t kLastPrivilegedPort = 1023;
  for (std::size_t at = 0; at < command_line.size();) {
    const std::size_t end = std::min(command_line.find_first_of(" \n", at), command_line.size());
    const auto word = command_line.substr(at, end - at);
    at = end + 1;
    if (!word.starts_with(kWord)) continue;
    HARENA_TRY(const auto port, parse_int(word.substr(kWord.size()), 1, kLastPrivilegedPort, "harena.vsock"));
    return std::optional(static_cast<std::uint32_t>(port));
  }
  return std::optional<std::uint32_t>();
}

Result<UniqueFd> listen_on_vsock(std::uint32_t port) {
  UniqueFd socket(::socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_vm address{};
  address.svm_family = AF_VSOCK;
  address.svm_cid = VMADDR_CID_ANY;
  address.svm_port = port;
  if (!socket || ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(socket.get(), 8) != 0) {
    return errno_error(errno, "listen on vsock port " + std::to_string(port));
  }
  return socket;
}

UniqueFd accept_host(int listener) {
  sockaddr_vm peer{};
  socklen_t size = sizeof peer;
  UniqueFd connection(::accept4(listener, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC));
  if (connection && peer.svm_family == AF_VSOCK && peer.svm_cid == VMADDR_CID_HOST) return connection;
  return UniqueFd();
}

Result<std::optional<std::uint32_t>> own_vsock_port() {
  HARENA_TRY(const std::string command_line, read_file_at(AT_FDCWD, "/proc/cmdline"));
  return vsock_port(command_line);
}

Result<Channel> open_channel(std::optional<std::uint32_t> port, int device_events) {
  Channel channel;
  if (!port) {
    HARENA_TRY(channel.connection, open_channel_port(device_events));
    return channel;
  }
  HARENA_TRY(channel.listener, listen_on_vsock(*port));
  while (!channel.connection) channel.connection = accept_host(channel.listener.get());
  return channel;
}

}  // namespace harena::guest
