#include "core/api/session/text_parts.hpp"

#include <algorithm>
#include <cstddef>

#include "sdk/base/text.hpp"

namespace harena {
namespace {

bool needs_escape(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

void append_escape(std::string& out, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto code = static_cast<unsigned char>(c);
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    case '\b': out += "\\b"; return;
    case '\f': out += "\\f"; return;
    default: break;
  }
  out += "\\u00";
  out += kHex[code >> 4];
  out += kHex[code & 15];
}

/// Bytes of the character that begins with `lead`; 1 for what begins none.
std::size_t length_by(char lead) {
  const auto code = static_cast<unsigned char>(lead);
  if (code < 0xc0) return 1;
  return code < 0xe0 ? 2 : code < 0xf0 ? 3 : 4;
}

/// How many bytes at the end begin a character that isn't whole.
std::size_t unfinished(std::string_view bytes) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, bytes.size()); ++back) {
    const char c = bytes[bytes.size() - back];
    const bool continues = (static_cast<unsigned char>(c) & 0xc0) == 0x80;
    if (!continues) return length_by(c) > back ? back : 0;
  }
  return 0;
}

}  // namespace

void append_json_text(std::string& out, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto plain = static_cast<std::size_t>(std::find_if(bytes.begin(), bytes.end(), needs_escape) - bytes.begin());
    out.append(bytes.substr(0, plain));
    if (plain == bytes.size()) return;
    append_escape(out, bytes[plain]);
    bytes.remove_prefix(plain + 1);
  }
}

void Utf8Check::finish_character(std::string_view& bytes) {
  while (!begun_.empty() && !bytes.empty()) {
    begun_ += bytes.front();
    bytes.remove_prefix(1);
    if (begun_.size() < length_by(begun_.front())) continue;
    valid_ = valid_ && is_utf8(begun_);
    begun_.clear();
  }
}

void Utf8Check::add(std::string_view bytes) {
  if (!valid_) return;
  finish_character(bytes);
  const auto whole = bytes.size() - unfinished(bytes);
  valid_ = valid_ && is_utf8(bytes.substr(0, whole));
  begun_ += bytes.substr(whole);
}

void Base64Parts::append(std::string& out, std::string_view bytes) {
  rest_ += bytes;
  const auto whole = rest_.size() / 3 * 3;
  out += base64_encode(std::string_view(rest_).substr(0, whole));
  rest_.erase(0, whole);
}

void Base64Parts::finish(std::string& out) {
  out += base64_encode(rest_);
  rest_.clear();
}

}  // namespace harena
