#include "sdk/support/packets.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

#include "sdk/base/text.hpp"

namespace harena {
namespace {

constexpr std::size_t kControlBytes = CMSG_SPACE(sizeof(int) * kMaxPacketFds);

Error peer_gone() { return make_error(ErrorCode::unavailable, "the process at the other end of the socket is gone"); }

void put_fds(msghdr& message, std::span<const int> fds, std::span<std::byte> control) {
  if (fds.empty()) return;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
  std::memcpy(CMSG_DATA(header), fds.data(), sizeof(int) * fds.size());
}

std::vector<UniqueFd> take_fds(msghdr& message) {
  std::vector<UniqueFd> fds;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      fds.emplace_back(fd);
    }
  }
  return fds;
}

}  // namespace

Result<std::pair<UniqueFd, UniqueFd>> make_packet_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return errno_error(errno, "socketpair");
  return std::pair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

Status send_packet(int socket, std::string_view bytes, std::span<const int> fds) {
  if (bytes.size() > kMaxPacketBytes || fds.size() > kMaxPacketFds) {
    return make_error(ErrorCode::out_of_range, "a packet of " + std::to_string(bytes.size()) + " bytes and " +
                                                   std::to_string(fds.size()) + " descriptors; the most is " +
                                                   std::to_string(kMaxPacketBytes) + " and " +
                                                   std::to_string(kMaxPacketFds));
  }
  alignas(cmsghdr) std::array<std::byte, kControlBytes> control{};
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  put_fds(message, fds, control);
  while (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN) return peer_gone();
    return errno_error(errno, "sendmsg");
  }
  return {};
}

Result<Packet> receive_packet(int socket) {
  Packet packet;
  packet.bytes.resize(kMaxPacketBytes);
  alignas(cmsghdr) std::array<std::byte, kControlBytes> control{};
  iovec part{packet.bytes.data(), packet.bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == ECONNRESET) return peer_gone();
  if (got < 0) return errno_error(errno, "recvmsg");
  packet.fds = take_fds(message);
  if (got == 0) return peer_gone();
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return make_error(ErrorCode::data_loss, "a packet was longer than the receiver allows");
  }
  packet.bytes.resize(static_cast<std::size_t>(got));
  packet.bytes.shrink_to_fit();
  return packet;
}

Result<Fields> Fields::decode(std::string_view bytes) {
  Fields fields;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\0');
    const std::size_t equals = bytes.find('=');
    if (end == std::string_view::npos || equals == std::string_view::npos || equals > end) {
      return make_error(ErrorCode::invalid_argument, "a packet that isn't a sequence of key=value");
    }
    fields.set(std::string(bytes.substr(0, equals)), std::string(bytes.substr(equals + 1, end - equals - 1)));
    bytes.remove_prefix(end + 1);
  }
  return fields;
}

std::string Fields::encode() const {
  std::string bytes;
  for (const auto& [key, value] : fields_) {
    bytes += key;
    bytes += '=';
    bytes += value;
    bytes += '\0';
  }
  return bytes;
}

std::string Fields::text(const std::string& key) const {
  auto found = fields_.find(key);
  return found == fields_.end() ? std::string() : found->second;
}

Result<std::int64_t> Fields::number(const std::string& key) const {
  return parse_int(text(key), std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
                   "field " + key);
}

void Fields::set_list(const std::string& key, const std::vector<std::string>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) set(key + "." + std::to_string(i), values[i]);
}

std::vector<std::string> Fields::list(const std::string& key) const {
  std::vector<std::string> values;
  while (has(key + "." + std::to_string(values.size()))) {
    values.push_back(text(key + "." + std::to_string(values.size())));
  }
  return values;
}

}  // namespace harena
