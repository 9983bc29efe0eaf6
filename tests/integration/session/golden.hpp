#pragma once
// The bytes of harena.session/1 as its first release spoke it, spelled here without sdk/session: what is frozen can't change by
// itself when the codec does. Only transcripts of that release belong here; what came later has tests of its own.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace harena::golden {

inline std::string little(std::uint64_t value, std::size_t bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}
inline std::string text(unsigned key, std::string_view value) { return little(key, 2) + little(value.size(), 4) + std::string(value); }
/// The shortest two's complement, as the first release sent it.
inline std::string number(unsigned key, std::int64_t value) {
  std::size_t bytes = 1;
  while (bytes < 8 && (value < -(std::int64_t{1} << (8 * bytes - 1)) || value >= std::int64_t{1} << (8 * bytes - 1))) ++bytes;
  return text(key, little(static_cast<std::uint64_t>(value), bytes));
}
inline std::string pair(unsigned key, std::string_view first, std::string_view second) {
  return text(key, little(first.size(), 4) + std::string(first) + std::string(second));
}
inline std::string frame(unsigned type, std::string_view payload = {}) {
  return little(payload.size(), 4) + little(type, 2) + little(0, 2) + little(0, 4) + std::string(payload);
}
inline std::string output(unsigned type, std::uint64_t offset, std::string_view bytes) {
  return frame(type, little(offset, 8) + std::string(bytes));
}

inline std::string hello_ok() { return frame(0x02, number(1, 1) + text(3, "0.1.0") + text(4, "dial-fd") + text(5, "test")); }
inline std::string ok(std::string_view payload = {}) { return frame(0x03, payload); }

struct Frame {
  unsigned type = 0;
  std::string payload;
};
/// The first frame of `bytes`, taken out of them; false while it isn't whole.
inline bool take_frame(std::string& bytes, Frame& out) {
  auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (bytes.size() < 12) return false;
  std::size_t length = at(0) | at(1) << 8 | at(2) << 16 | static_cast<std::size_t>(at(3)) << 24;
  if (bytes.size() < 12 + length) return false;
  out = {static_cast<unsigned>(at(4) | at(5) << 8), bytes.substr(12, length)};
  bytes.erase(0, 12 + length);
  return true;
}
/// Attributes as they came, in order.
inline std::vector<std::pair<unsigned, std::string>> attributes(std::string_view payload) {
  std::vector<std::pair<unsigned, std::string>> all;
  while (payload.size() >= 6) {
    auto at = [&](std::size_t i) { return static_cast<unsigned char>(payload[i]); };
    std::size_t length = at(2) | at(3) << 8 | at(4) << 16 | static_cast<std::size_t>(at(5)) << 24;
    all.emplace_back(at(0) | at(1) << 8, payload.substr(6, length));
    payload.remove_prefix(6 + std::min(length, payload.size() - 6));
  }
  return all;
}

}  // namespace harena::golden
