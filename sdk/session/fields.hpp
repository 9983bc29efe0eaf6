#pragma once
// Messages as plain structs: each lists its fields once,
//   template <class F> static void fields(F& f) { f(1, &Dial::host); f(2, &Dial::port); }
// and encode/decode follow. A field that equals its default isn't sent, so an older peer only meets an option
// it doesn't know when the option is used.

#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sdk/session/attributes.hpp"

namespace harena::session {

enum class UnknownKeys { refuse, skip };

template <class T>
std::string encode(const T& message);
/// `refuse` for requests: an unknown key below kIgnorableKey is unimplemented and names the key.
template <class T>
Result<T> decode(std::string_view payload, UnknownKeys unknown = UnknownKeys::skip);

namespace detail {

template <class T>
concept Message = requires { T::kIsMessage; };

template <class V>
  requires(std::is_integral_v<V> || std::is_enum_v<V>)
void write_value(std::string& out, std::uint16_t key, const V& value) {
  append_integer(out, key, static_cast<std::int64_t>(value));
}
inline void write_value(std::string& out, std::uint16_t key, const std::string& value) {
  append_attribute(out, key, value);
}
inline void write_value(std::string& out, std::uint16_t key, const std::pair<std::string, std::string>& value) {
  append_attribute(out, key, join_pair(value.first, value.second));
}
template <Message V>
void write_value(std::string& out, std::uint16_t key, const V& value) {
  append_attribute(out, key, encode(value));
}
template <class V>
void write_value(std::string& out, std::uint16_t key, const std::optional<V>& value) {
  if (value) write_value(out, key, *value);
}
template <class V>
void write_value(std::string& out, std::uint16_t key, const std::vector<V>& values) {
  for (const auto& value : values) write_value(out, key, value);
}

inline Status range_error(const Attribute& from, std::int64_t value) {
  return make_error(ErrorCode::invalid_argument, "session attribute " + std::to_string(from.key) + ": " +
                                                     std::to_string(value) + " is out of range");
}

template <class V>
  requires(std::is_integral_v<V>)
Status read_value(const Attribute& from, V& value) {
  HARENA_TRY(auto number, parse_integer(from));
  if (!std::in_range<V>(number) && !std::is_same_v<V, std::uint64_t>) return range_error(from, number);
  value = static_cast<V>(number);
  return {};
}
template <>
inline Status read_value<bool>(const Attribute& from, bool& value) {
  HARENA_TRY(auto number, parse_integer(from));
  value = number != 0;
  return {};
}
/// Enums: any number that fits; the user of the message judges it (`unknown` values come from newer peers).
template <class V>
  requires(std::is_enum_v<V>)
Status read_value(const Attribute& from, V& value) {
  std::underlying_type_t<V> number{};
  HARENA_TRY_STATUS(read_value(from, number));
  value = static_cast<V>(number);
  return {};
}
inline Status read_value(const Attribute& from, std::string& value) {
  value.assign(from.value);
  return {};
}
inline Status read_value(const Attribute& from, std::pair<std::string, std::string>& value) {
  HARENA_TRY(value, split_pair(from));
  return {};
}
template <Message V>
Status read_value(const Attribute& from, V& value) {
  HARENA_TRY(value, decode<V>(from.value));
  return {};
}
template <class V>
Status read_value(const Attribute& from, std::optional<V>& value) {
  return read_value(from, value.emplace());
}
template <class V>
Status read_value(const Attribute& from, std::vector<V>& values) {
  return read_value(from, values.emplace_back());
}

template <class T>
struct Encoder {
  const T& message;
  const T defaults{};
  std::string out{};
  template <class V>
  void operator()(std::uint16_t key, V T::*member) {
    if (!(message.*member == defaults.*member)) write_value(out, key, message.*member);
  }
};

template <class T>
struct Decoder {
  const Attribute& attribute;
  T& message;
  bool known = false;
  Status status{};
  template <class V>
  void operator()(std::uint16_t key, V T::*member) {
    if (key != attribute.key) return;
    known = true;
    status = read_value(attribute, message.*member);
  }
};

}  // namespace detail

template <class T>
std::string encode(const T& message) {
  detail::Encoder<T> encoder{message};
  T::fields(encoder);
  return std::move(encoder.out);
}

template <class T>
Result<T> decode(std::string_view payload, UnknownKeys unknown) {
  HARENA_TRY(auto attributes, parse_attributes(payload));
  T message;
  for (const auto& attribute : attributes) {
    detail::Decoder<T> decoder{attribute, message};
    T::fields(decoder);
    HARENA_TRY_STATUS(std::move(decoder.status));
    if (!decoder.known && unknown == UnknownKeys::refuse && attribute.key < kIgnorableKey) {
      return make_error(ErrorCode::unimplemented,
                        "this endpoint doesn't know option " + std::to_string(attribute.key) + " of the request");
    }
  }
  return message;
}

}  // namespace harena::session
