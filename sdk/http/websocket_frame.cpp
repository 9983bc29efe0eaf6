#include "sdk/http/websocket_frame.hpp"

#include <cstring>

namespace harena::http {
namespace {

constexpr unsigned kFinal = 0x80;
constexpr unsigned kReserved = 0x70;
constexpr unsigned kMasked = 0x80;

Error bad_frame(const char* what) {
  return make_error(ErrorCode::invalid_argument, std::string("WebSocket frame: ") + what);
}

bool known_opcode(unsigned opcode) { return opcode <= 2 || (opcode >= 8 && opcode <= 10); }

std::uint64_t big_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (const auto byte : bytes) value = (value << 8) | std::to_integer<std::uint64_t>(byte);
  return value;
}

std::size_t extended_bytes(unsigned short_length) {
  if (short_length < 126) return 0;
  return short_length == 126 ? 2 : 8;
}

Status check_header(const FrameHeader& header, std::size_t extended) {
  if (extended == 2 && header.length < 126) return bad_frame("length not in its shortest form");
  if (extended == 8 && header.length < 65536) return bad_frame("length not in its shortest form");
  if (header.length >> 63 != 0) return bad_frame("length over 2^63-1");
  if (!is_control(header.opcode)) return ok_status();
  if (!header.final) return bad_frame("fragmented control frame");
  if (header.length > 125) return bad_frame("control frame over 125 bytes");
  return ok_status();
}

void append_big_endian(std::string& out, std::uint64_t value, int bytes) {
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) out += static_cast<char>((value >> shift) & 0xff);
}

}  // namespace

Result<std::optional<DecodedHeader>> decode_frame_header(std::span<const std::byte> bytes) {
  if (bytes.size() < 2) return std::optional<DecodedHeader>();
  const auto first = std::to_integer<unsigned>(bytes[0]);
  const auto second = std::to_integer<unsigned>(bytes[1]);
  if ((first & kReserved) != 0) return bad_frame("reserved bits set");
  if (!known_opcode(first & 15)) return bad_frame("reserved opcode");
  const auto extended = extended_bytes(second & 127);
  const std::size_t mask_bytes = (second & kMasked) != 0 ? 4 : 0;
  DecodedHeader decoded;
  decoded.size = 2 + extended + mask_bytes;
  if (bytes.size() < decoded.size) return std::optional<DecodedHeader>();
  auto& header = decoded.header;
  header.final = (first & kFinal) != 0;
  header.opcode = static_cast<Opcode>(first & 15);
  header.length = extended == 0 ? (second & 127) : big_endian(bytes.subspan(2, extended));
  if (mask_bytes != 0) std::memcpy(header.mask.emplace().data(), bytes.data() + 2 + extended, 4);
  HARENA_TRY_STATUS(check_header(header, extended));
  return std::optional<DecodedHeader>(decoded);
}

std::string encode_frame_header(const FrameHeader& header) {
  std::string out;
  out += static_cast<char>((header.final ? kFinal : 0u) | static_cast<unsigned>(header.opcode));
  const auto mask_bit = header.mask ? kMasked : 0u;
  if (header.length < 126) {
    out += static_cast<char>(mask_bit | header.length);
  } else if (header.length < 65536) {
    out += static_cast<char>(mask_bit | 126u);
    append_big_endian(out, header.length, 2);
  } else {
    out += static_cast<char>(mask_bit | 127u);
    append_big_endian(out, header.length, 8);
  }
  if (header.mask) out.append(reinterpret_cast<const char*>(header.mask->data()), 4);
  return out;
}

void apply_mask(std::span<std::byte> payload, const std::array<std::byte, 4>& mask, std::uint64_t offset) {
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] ^= mask[(offset + i) & 3];
}

bool is_valid_close_code(std::uint16_t code) {
  if (code >= 3000 && code <= 4999) return true;
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014);
}

}  // namespace harena::http
