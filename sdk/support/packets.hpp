#pragma once
// Packets with descriptors over SOCK_SEQPACKET sockets (unix(7), SCM_RIGHTS), and the text they carry.
//
//   HARENA_TRY(auto pair, make_packet_pair());
//   send_packet(pair.first.get(), Fields{{"verb", "create"}}.encode(), {fd});
//   HARENA_TRY(Packet packet, receive_packet(pair.second.get()));
//
// A packet arrives whole or not at all; descriptors arrive CLOEXEC.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena {

/// What one packet may hold: far below net.core.wmem_default (212992), so that a packet is never refused for size.
inline constexpr std::size_t kMaxPacketBytes = 128 * 1024;
/// SCM_MAX_FD of the kernel (include/net/scm.h).
inline constexpr std::size_t kMaxPacketFds = 253;

struct Packet {
  std::string bytes;
  std::vector<UniqueFd> fds;
};

Result<std::pair<UniqueFd, UniqueFd>> make_packet_pair();
/// Blocks while the socket is full. `unavailable` when the other end is gone (no SIGPIPE).
Status send_packet(int socket, std::string_view bytes, std::span<const int> fds = {});
/// Blocks for the next packet; `unavailable` when the other end is gone, data_loss when a packet didn't fit.
Result<Packet> receive_packet(int socket);

/// A flat, ordered map of text to text, for packets between our own programs. Keys and values hold no NUL.
class Fields {
 public:
  Fields() = default;
  Fields(std::initializer_list<std::pair<const std::string, std::string>> fields) : fields_(fields) {}
  /// invalid_argument for bytes that encode() can't have made.
  static Result<Fields> decode(std::string_view bytes);
  std::string encode() const;

  void set(const std::string& key, std::string value) { fields_[key] = std::move(value); }
  void set(const std::string& key, std::int64_t value) { fields_[key] = std::to_string(value); }
  bool has(const std::string& key) const { return fields_.count(key) != 0; }
  /// Empty when absent.
  std::string text(const std::string& key) const;
  /// invalid_argument when absent or not a decimal integer.
  Result<std::int64_t> number(const std::string& key) const;
  /// Lists are "key.0", "key.1", ...
  void set_list(const std::string& key, const std::vector<std::string>& values);
  std::vector<std::string> list(const std::string& key) const;

 private:
  std::map<std::string, std::string> fields_;
};

}  // namespace harena
