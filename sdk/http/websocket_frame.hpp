#pragma once
// WebSocket frames (RFC 6455 section 5): pure functions over outside bytes (a fuzz target runs over them).

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sdk/base/result.hpp"

namespace harena::http {

enum class Opcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

struct FrameHeader {
  bool final = true;
  Opcode opcode = Opcode::binary;
  std::optional<std::array<std::byte, 4>> mask;
  std::uint64_t length = 0;
};

inline bool is_control(Opcode opcode) { return static_cast<std::uint8_t>(opcode) >= 8; }

/// A header from the beginning of `bytes` and its own size; nullopt if more bytes are needed (never over 14).
/// invalid_argument for reserved bits or opcodes, a length not in its shortest form or over 2^63-1, a control
/// frame that is fragmented or over 125 bytes.
struct DecodedHeader {
  FrameHeader header;
  std::size_t size = 0;
};
Result<std::optional<DecodedHeader>> decode_frame_header(std::span<const std::byte> bytes);

/// The bytes of a header.
std::string encode_frame_header(const FrameHeader& header);

/// Masks or unmasks in place; `offset` is the position of the first byte in its payload.
void apply_mask(std::span<std::byte> payload, const std::array<std::byte, 4>& mask, std::uint64_t offset);

/// May a peer send this code in a close frame? (RFC 6455 7.4: 1000-1003, 1007-1014, 3000-4999)
bool is_valid_close_code(std::uint16_t code);

}  // namespace harena::http
