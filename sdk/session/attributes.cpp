#include "sdk/session/attributes.hpp"

#include <array>

namespace harena::session {
namespace {

constexpr std::size_t kPrefixBytes = 6;

void put_le(char* at, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) at[i] = static_cast<char>((value >> (8 * i)) & 0xff);
}

std::uint64_t get_le(const char* at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(at[i])) << (8 * i);
  }
  return value;
}

Error malformed(std::uint16_t key, std::string_view what) {
  return make_error(ErrorCode::invalid_argument,
                    "session attribute " + std::to_string(key) + ": " + std::string(what));
}

std::size_t shortest(std::int64_t value) {
  for (std::size_t bytes = 1; bytes < 8; ++bytes) {
    std::int64_t top = std::int64_t{1} << (8 * bytes - 1);
    if (value >= -top && value < top) return bytes;
  }
  return 8;
}

}  // namespace

void append_attribute(std::string& out, std::uint16_t key, std::string_view value) {
  std::array<char, kPrefixBytes> prefix;
  put_le(prefix.data(), key, 2);
  put_le(prefix.data() + 2, value.size(), 4);
  out.append(prefix.data(), prefix.size());
  out.append(value);
}

void append_integer(std::string& out, std::uint16_t key, std::int64_t value) {
  std::array<char, 8> bytes;
  put_le(bytes.data(), static_cast<std::uint64_t>(value), 8);
  append_attribute(out, key, {bytes.data(), shortest(value)});
}

Result<std::vector<Attribute>> parse_attributes(std::string_view payload) {
  std::vector<Attribute> all;
  while (!payload.empty()) {
    if (payload.size() < kPrefixBytes) return malformed(0, "cut off before its length");
    auto key = static_cast<std::uint16_t>(get_le(payload.data(), 2));
    auto length = get_le(payload.data() + 2, 4);
    payload.remove_prefix(kPrefixBytes);
    if (length > payload.size()) {
      return malformed(key, "says " + std::to_string(length) + " bytes, " + std::to_string(payload.size()) + " are left");
    }
    all.push_back({key, payload.substr(0, length)});
    payload.remove_prefix(length);
  }
  return all;
}

Result<std::int64_t> parse_integer(const Attribute& attribute) {
  auto size = attribute.value.size();
  if (size == 0 || size > 8) return malformed(attribute.key, "an integer has 1 to 8 bytes, not " + std::to_string(size));
  std::uint64_t value = get_le(attribute.value.data(), size);
  bool negative = (static_cast<unsigned char>(attribute.value.back()) & 0x80) != 0;
  if (negative && size < 8) value |= ~std::uint64_t{0} << (8 * size);
  return static_cast<std::int64_t>(value);
}

std::string join_pair(std::string_view first, std::string_view second) {
  std::string out(4, '\0');
  put_le(out.data(), first.size(), 4);
  out.append(first).append(second);
  return out;
}

Result<std::pair<std::string, std::string>> split_pair(const Attribute& attribute) {
  auto value = attribute.value;
  if (value.size() < 4) return malformed(attribute.key, "a pair has at least 4 bytes");
  auto length = get_le(value.data(), 4);
  value.remove_prefix(4);
  if (length > value.size()) return malformed(attribute.key, "the first half of a pair is cut off");
  return std::pair(std::string(value.substr(0, length)), std::string(value.substr(length)));
}

}  // namespace harena::session
