// sock_diag(7): the kernel lists exactly the listening sockets, and only this namespace's.
#include "shim/listeners.hpp"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <span>

#include "sdk/base/unique_fd.hpp"

namespace harena::shim {
namespace {

struct Request {
  nlmsghdr header{};
  inet_diag_req_v2 body{};
};

bool ask(int fd, int family) {
  Request request;
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.body.sdiag_family = static_cast<std::uint8_t>(family);
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = 1u << TCP_LISTEN;
  return ::send(fd, &request, sizeof request, 0) == static_cast<ssize_t>(sizeof request);
}

std::string address_of(const inet_diag_msg& socket) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (::inet_ntop(socket.idiag_family, &socket.id.idiag_src, text.data(), text.size()) == nullptr) return {};
  const std::string address(text.data());
  if (address == "0.0.0.0") return "127.0.0.1";
  return address == "::" ? "::1" : address;
}

void note(const inet_diag_msg& socket, std::uint16_t port, std::vector<std::string>& found) {
  if (ntohs(socket.id.idiag_sport) != port || found.size() >= kMaxListeners) return;
  auto address = address_of(socket);
  if (address.empty() || std::find(found.begin(), found.end(), address) != found.end()) return;
  found.push_back(std::move(address));
}

/// False once the list has ended.
bool take(std::span<const char> bytes, std::uint16_t port, std::vector<std::string>& found) {
  auto left = static_cast<unsigned>(bytes.size());
  const auto* message = reinterpret_cast<const nlmsghdr*>(bytes.data());
  for (; NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
    if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR) return false;
    if (message->nlmsg_type != SOCK_DIAG_BY_FAMILY || message->nlmsg_len < NLMSG_LENGTH(sizeof(inet_diag_msg))) continue;
    note(*static_cast<const inet_diag_msg*>(NLMSG_DATA(message)), port, found);
  }
  return true;
}

void list(int family, std::uint16_t port, std::vector<std::string>& found) {
  // The kernel answers a dump from within recv(2): it never has to be waited for.
  const UniqueFd fd(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
  if (!fd || !ask(fd.get(), family)) return;
  alignas(nlmsghdr) std::array<char, 32 * 1024> buffer;
  while (true) {
    const auto count = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
    if (count <= 0 || !take(std::span<const char>(buffer).first(static_cast<std::size_t>(count)), port, found)) return;
  }
}

}  // namespace

std::vector<std::string> listening_addresses(std::uint16_t port) {
  std::vector<std::string> found;
  list(AF_INET, port, found);
  list(AF_INET6, port, found);
  return found;
}

}  // namespace harena::shim
