#pragma once
// The payload of control frames: attributes. Each is u16 key, u32 length, bytes; little endian. Integers are
// two's complement of 1 to 8 bytes; lists repeat the key; a nested message is bytes; names are bytes, not UTF-8.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.hpp"

namespace harena::session {

/// Keys from here on may be skipped by a receiver that doesn't know them; a key below must be understood or
/// the request is refused: an option is never ignored.
inline constexpr std::uint16_t kIgnorableKey = 0x8000;

struct Attribute {
  std::uint16_t key = 0;
  /// Borrowed from the payload.
  std::string_view value;
};

void append_attribute(std::string& out, std::uint16_t key, std::string_view value);
/// Shortest two's-complement form.
void append_integer(std::string& out, std::uint16_t key, std::int64_t value);

/// invalid_argument for a cut-off attribute.
Result<std::vector<Attribute>> parse_attributes(std::string_view payload);
/// invalid_argument for an empty value or one longer than 8 bytes.
Result<std::int64_t> parse_integer(const Attribute& attribute);

/// A pair of byte strings in one value: u32 length of the first, first, second.
std::string join_pair(std::string_view first, std::string_view second);
Result<std::pair<std::string, std::string>> split_pair(const Attribute& attribute);

}  // namespace harena::session
