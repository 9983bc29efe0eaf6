#pragma once
// Frames of harena.session/1: what travels on one byte channel between an edge and a session endpoint.
// docs/session-protocol.md is the contract; this header is its C++ spelling.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sdk/base/result.hpp"

namespace harena::session {

/// Bytes of the fixed header: u32 payload length, u16 type, u16 flags, u32 stream id; little endian.
inline constexpr std::size_t kHeaderBytes = 12;
/// A larger payload is a protocol error and ends the connection.
inline constexpr std::size_t kMaxFrameBytes = 1 << 20;
/// A control message may span several frames (kFlagMore), together at most this: room for a shell text
/// of several MB and its environment.
inline constexpr std::size_t kMaxMessageBytes = 8 << 20;
inline constexpr std::uint32_t kProtocolVersion = 1;

/// Numbers are never reused. Requests start an operation; every operation ends with exactly one of ok / error.
enum class FrameType : std::uint16_t {
  hello = 0x01,
  hello_ok = 0x02,
  ok = 0x03,
  error = 0x04,
  ping = 0x05,
  pong = 0x06,
  window = 0x07,
  // what flows inside an operation
  data = 0x10,        // raw bytes
  data_end = 0x11,    // no more bytes in this direction
  ready = 0x12,       // the endpoint takes the operation's data from here on
  started = 0x13,
  output_out = 0x14,  // u64 offset, raw bytes
  output_err = 0x15,
  truncated = 0x16,
  exit = 0x17,
  ack = 0x18,         // u64: bytes of stdin that the command's pipe has taken
  entries = 0x19,
  file_stat = 0x1a,
  resize_now = 0x1b,  // resize and signal inside an attach operation
  signal_now = 0x1c,
  file_range = 0x1d,  // which part of the opened file the client wants
  file_event = 0x1e,
  // requests: commands
  start = 0x40,
  attach = 0x41,
  stdin_open = 0x42,
  resize = 0x43,
  signal = 0x44,
  list = 0x45,
  info = 0x46,
  wait = 0x47,
  forget = 0x48,
  // requests: files
  file_read = 0x60,
  file_write = 0x61,
  file_list = 0x62,
  file_stat_get = 0x63,
  file_mkdir = 0x64,
  file_remove = 0x65,
  file_move = 0x66,
  file_chmod = 0x67,
  file_chown = 0x68,
  file_symlink = 0x69,
  file_readlink = 0x6a,
  file_truncate = 0x6b,
  file_xattr_list = 0x6c,
  file_xattr_set = 0x6d,
  file_xattr_remove = 0x6e,
  file_watch = 0x6f,
  file_archive_read = 0x70,
  file_archive_write = 0x71,
  // requests: the rest
  dial = 0x80,
  shutdown = 0x81,
  stats = 0x82,
  rename = 0x83,
  // requests to the agent of a VM itself (tunnel/agent_messages.hpp); a session endpoint doesn't know them
  agent_configure = 0x90,
  agent_freeze = 0x91,
  agent_thaw = 0x92,
  agent_renew = 0x93,
  agent_metrics = 0x94,
  agent_power_off = 0x95,
  agent_wait = 0x96,
};

/// The receiver may skip the frame if it doesn't know its type.
inline constexpr std::uint16_t kFlagMayIgnore = 1;
/// The message goes on in the next frame of the same type and stream.
inline constexpr std::uint16_t kFlagMore = 2;

struct FrameHeader {
  std::uint32_t length = 0;
  /// May hold a number that FrameType doesn't name: a newer peer.
  FrameType type = FrameType::ping;
  std::uint16_t flags = 0;
  std::uint32_t stream = 0;
  bool operator==(const FrameHeader&) const = default;
};

/// Precondition: bytes.size() >= kHeaderBytes. invalid_argument when the length is over kMaxFrameBytes.
Result<FrameHeader> parse_header(std::string_view bytes);
void append_header(std::string& out, const FrameHeader& header);

/// A whole message as one frame, or as several with kFlagMore. Precondition: payload <= kMaxMessageBytes.
void append_message(std::string& out, FrameType type, std::string_view payload, std::uint32_t stream = 0);
/// Header and offset of an output frame; the `length` bytes follow from wherever they are (sendfile).
void append_output_prefix(std::string& out, FrameType type, std::uint64_t offset, std::size_t length,
                          std::uint32_t stream = 0);
/// An ack frame.
void append_u64_frame(std::string& out, FrameType type, std::uint64_t value, std::uint32_t stream = 0);

void put_u64(char* at, std::uint64_t value);
std::uint64_t get_u64(const char* at);
/// The u64 at the start of an output or ack payload; invalid_argument when it's too short.
Result<std::uint64_t> leading_u64(std::string_view payload);

/// "start", "output_out", ... or "0x1234" for a number without a name.
std::string to_string(FrameType type);
/// Whether the type starts an operation.
bool is_request(FrameType type);
/// Whether the payload is raw bytes (data, output, ack) and not attributes.
bool is_raw(FrameType type);

/// Puts continued messages together. One a direction and stream.
class MessageAssembler {
 public:
  /// True when `payload()` now holds the whole message. resource_exhausted over kMaxMessageBytes,
  /// invalid_argument when another type came in the middle.
  Result<bool> add(const FrameHeader& header, std::string_view payload);
  std::string take() { return std::exchange(payload_, {}); }

 private:
  std::string payload_;
  FrameType type_ = FrameType::ping;
  bool open_ = false;
};

}  // namespace harena::session
