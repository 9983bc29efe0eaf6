#include "guest/channel_port.hpp"

#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

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

}  // namespace harena::guest
