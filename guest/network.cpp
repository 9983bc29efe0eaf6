#include "guest/network.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <net/route.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "sdk/base/text.hpp"
#include "sdk/support/files.hpp"

namespace harena::guest {
namespace {

using session::GuestNetwork;

constexpr const char* kDevice = "eth0";

Error bad(const std::string& what, const std::string& value, const std::string& right) {
  return make_error(ErrorCode::invalid_argument, "network " + what + " '" + value + "': " + right + " is right");
}

using Mac = std::array<unsigned char, 6>;

bool parse_mac(const std::string& text, Mac& mac) {
  int used = 0;
  return text.size() == 17 && std::sscanf(text.c_str(), "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &mac[0], &mac[1], &mac[2], &mac[3], &mac[4],
                                          &mac[5], &used) == 6 && used == 17;
}

bool parse_ipv4(const std::string& text, in_addr& address) { return ::inet_pton(AF_INET, text.c_str(), &address) == 1; }

/// "10.0.0.2/30"
bool parse_interface(const std::string& text, in_addr& address, in_addr& mask) {
  const auto slash = text.find('/');
  if (slash == std::string::npos) return false;
  auto bits = parse_int(std::string_view(text).substr(slash + 1), 1, 32, "prefix");
  if (!bits.ok() || !parse_ipv4(text.substr(0, slash), address)) return false;
  mask.s_addr = htonl(static_cast<std::uint32_t>(~std::uint64_t{0} << (32 - *bits)));
  return true;
}

ifreq named(const char* name) {
  ifreq request{};
  std::snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
  return request;
}

Result<UniqueFd> control_socket() {
  UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return errno_error(errno, "socket");
  return socket;
}

Status change(int socket, unsigned long what, const ifreq& request, const std::string& doing) {
  if (::ioctl(socket, what, &request) != 0) return errno_error(errno, doing);
  return {};
}

Status set_up(int socket, const char* name, bool up) {
  auto request = named(name);
  request.ifr_flags = up ? IFF_UP | IFF_RUNNING : 0;
  return change(socket, SIOCSIFFLAGS, request, std::string("bring ") + name + (up ? " up" : " down"));
}

Status set_address(int socket, unsigned long what, in_addr address, const std::string& doing) {
  auto request = named(kDevice);
  auto* in = reinterpret_cast<sockaddr_in*>(&request.ifr_addr);
  in->sin_family = AF_INET;
  in->sin_addr = address;
  return change(socket, what, request, doing);
}

Status set_mac(int socket, const Mac& mac) {
  auto request = named(kDevice);
  request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
  std::memcpy(request.ifr_hwaddr.sa_data, mac.data(), mac.size());
  return change(socket, SIOCSIFHWADDR, request, "set the MAC address");
}

Status set_mtu(int socket, std::uint32_t mtu) {
  auto request = named(kDevice);
  request.ifr_mtu = static_cast<int>(mtu);
  return change(socket, SIOCSIFMTU, request, "set the MTU");
}

Status set_default_route(int socket, in_addr gateway) {
  rtentry route{};
  for (auto* part : {&route.rt_dst, &route.rt_genmask, &route.rt_gateway}) reinterpret_cast<sockaddr_in*>(part)->sin_family = AF_INET;
  reinterpret_cast<sockaddr_in*>(&route.rt_gateway)->sin_addr = gateway;
  route.rt_flags = RTF_UP | RTF_GATEWAY;
  if (::ioctl(socket, SIOCADDRT, &route) != 0 && errno != EEXIST) return errno_error(errno, "set the default route");
  return {};
}

/// Name of the device with this address in the caller's namespace.
Result<std::string> device_with_mac(const std::string& mac) {
  HARENA_TRY(auto names, list_directory(AT_FDCWD, "/sys/class/net"));
  for (const auto& name : names) {
    auto address = read_file_at(AT_FDCWD, "/sys/class/net/" + name + "/address");
    if (address.ok() && address->starts_with(mac)) return name;
  }
  return make_error(ErrorCode::not_found, "the machine has no network device with the address " + mac);
}

/// One rtnetlink message with attributes.
class LinkChange {
 public:
  explicit LinkChange(unsigned index) {
    header_.nlmsg_type = RTM_NEWLINK;
    header_.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    info_.ifi_index = static_cast<int>(index);
  }
  void add(unsigned short type, const void* data, unsigned short size) {
    rtattr attribute{static_cast<unsigned short>(RTA_LENGTH(size)), type};
    attributes_.append(reinterpret_cast<const char*>(&attribute), sizeof attribute);
    attributes_.append(static_cast<const char*>(data), size);
    attributes_.resize(RTA_ALIGN(attributes_.size()));
  }
  Status send() {
    std::string bytes;
    header_.nlmsg_len = static_cast<std::uint32_t>(NLMSG_LENGTH(sizeof info_) + attributes_.size());
    bytes.append(reinterpret_cast<const char*>(&header_), sizeof header_).append(reinterpret_cast<const char*>(&info_), sizeof info_);
    bytes += attributes_;
    UniqueFd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    if (!socket || ::send(socket.get(), bytes.data(), bytes.size(), 0) < 0) return errno_error(errno, "ask the kernel to move the device");
    struct {
      nlmsghdr header;
      nlmsgerr error;
      char rest[4096];
    } answer{};
    if (::recv(socket.get(), &answer, sizeof answer, 0) < 0) return errno_error(errno, "move the device");
    if (answer.error.error != 0) return errno_error(-answer.error.error, "move the device into the sandbox");
    return {};
  }

 private:
  nlmsghdr header_{};
  ifinfomsg info_{};
  std::string attributes_;
};

}  // namespace

Status check_network(const GuestNetwork& network) {
  Mac mac{};
  in_addr address{}, mask{};
  if (!parse_mac(network.mac, mac)) return bad("mac", network.mac, "six pairs of hexadecimal digits with colons between");
  if (!network.address.empty() && !parse_interface(network.address, address, mask)) {
    return bad("address", network.address, "an IPv4 address with its prefix length, as 10.0.0.2/30,");
  }
  if (!network.gateway.empty() && !parse_ipv4(network.gateway, address)) return bad("gateway", network.gateway, "an IPv4 address");
  for (const auto& server : network.nameservers) {
    std::array<char, 16> v6{};
    if (!parse_ipv4(server, address) && ::inet_pton(AF_INET6, server.c_str(), v6.data()) != 1) return bad("nameserver", server, "an IP address");
  }
  if (network.mtu < 576 || network.mtu > 65535) return bad("mtu", std::to_string(network.mtu), "576 to 65535");
  return {};
}

Status give_device(const GuestNetwork& network, pid_t member) {
  HARENA_TRY(auto name, device_with_mac(network.mac));
  LinkChange change(::if_nametoindex(name.c_str()));
  const auto pid = static_cast<std::uint32_t>(member);
  change.add(IFLA_NET_NS_PID, &pid, sizeof pid);
  change.add(IFLA_IFNAME, kDevice, sizeof "eth0");
  return change.send();
}

Status configure_device(const GuestNetwork& network) {
  HARENA_TRY(UniqueFd socket, control_socket());
  HARENA_TRY_STATUS(set_mtu(socket.get(), network.mtu));
  in_addr address{}, mask{}, gateway{};
  if (parse_interface(network.address, address, mask)) {
    HARENA_TRY_STATUS(set_address(socket.get(), SIOCSIFADDR, address, "set the address"));
    HARENA_TRY_STATUS(set_address(socket.get(), SIOCSIFNETMASK, mask, "set the netmask"));
  }
  HARENA_TRY_STATUS(set_up(socket.get(), kDevice, true));
  if (parse_ipv4(network.gateway, gateway)) HARENA_TRY_STATUS(set_default_route(socket.get(), gateway));
  return {};
}

Status renew_network(const GuestNetwork& network, int init_pidfd) {
  if (::setns(init_pidfd, CLONE_NEWNET) != 0) return errno_error(errno, "enter the sandbox's network namespace");
  HARENA_TRY(UniqueFd socket, control_socket());
  Mac mac{};
  (void)parse_mac(network.mac, mac);
  // Down: its routes and its neighbours go, and connections that pointed out of the machine have nowhere to go.
  HARENA_TRY_STATUS(set_up(socket.get(), kDevice, false));
  HARENA_TRY_STATUS(set_mac(socket.get(), mac));
  return configure_device(network);
}

Result<UniqueFd> open_init(pid_t init) {
  UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, init, 0)));
  if (!fd) return errno_error(errno, "open the sandbox's init");
  return fd;
}

}  // namespace harena::guest
