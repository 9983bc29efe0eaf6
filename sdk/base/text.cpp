#include "sdk/base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace harena {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

std::optional<double> size_unit(std::string_view suffix) {
  if (suffix.empty() || suffix == "B") return 1.0;
  constexpr std::string_view kLetters = "KMGT";
  const char letter = static_cast<char>(std::toupper(static_cast<unsigned char>(suffix[0])));
  const auto power = kLetters.find(letter);
  const auto rest = suffix.substr(1);
  if (power == std::string_view::npos || !(rest.empty() || rest == "iB" || rest == "B")) {
    return std::nullopt;
  }
  return std::pow(1024.0, static_cast<double>(power + 1));
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Of those that have the whole word in them the shortest: "ttl" in "idle-ttl", "mem" in "memory".
const std::string* shortest_with(std::string_view word, std::span<const std::string> candidates) {
  const std::string* best = nullptr;
  for (const auto& candidate : candidates) {
    if (candidate.find(word) != std::string::npos && (!best || candidate.size() < best->size())) best = &candidate;
  }
  return word.size() < 3 ? nullptr : best;
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  if (const std::string* whole = shortest_with(word, candidates)) return *whole;
  const std::string* best = nullptr;
  std::size_t best_distance = SIZE_MAX;
  for (const auto& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  if (!best || best_distance > std::max(word.size(), best->size()) / 3 + 1) return std::nullopt;
  return *best;
}

std::string suggestion(std::string_view word, std::span<const std::string> candidates) {
  if (auto near = nearest(word, candidates)) return ", did you mean '" + *near + "'?";
  if (candidates.empty()) return "; there is none";
  std::string text = "; known: ";
  for (std::size_t i = 0; i < candidates.size(); ++i) text += (i ? ", " : "") + candidates[i];
  return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  std::size_t start = 0;
  for (std::size_t end; (end = text.find(separator, start)) != std::string_view::npos; start = end + 1) {
    parts.emplace_back(text.substr(start, end - start));
  }
  parts.emplace_back(text.substr(start));
  return parts;
}

Result<std::int64_t> parse_int(std::string_view text, std::int64_t min, std::int64_t max,
                               std::string_view what) {
  std::int64_t value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || end != text.data() + text.size() || text.empty() || value < min || value > max) {
    return make_error(ErrorCode::invalid_argument,
                      std::string(what) + " is '" + std::string(text.substr(0, 64)) +
                          "'; it must be a whole number from " + std::to_string(min) + " to " +
                          std::to_string(max));
  }
  return value;
}

Result<std::int64_t> parse_size(std::string_view text) {
  const auto fail = [&] {
    return make_error(ErrorCode::invalid_argument,
                      "'" + std::string(text.substr(0, 64)) +
                          "' is not a size; write bytes, or a number with K, M, G or T (powers of 1024)");
  };
  double number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (ec != std::errc() || !std::isfinite(number) || number < 0) return fail();
  const auto unit = size_unit(text.substr(static_cast<std::size_t>(end - text.data())));
  if (!unit || number * *unit > std::ldexp(1.0, 62)) return fail();
  if (*unit == 1 && number != std::floor(number)) return fail();  // there are no parts of a byte
  return static_cast<std::int64_t>(number * *unit);
}

std::string ascii_lower(std::string_view text) {
  std::string lower(text);
  for (auto& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead >= 0xC2 && lead < 0xE0 ? 2 : lead >= 0xE0 && lead < 0xF0 ? 3 : lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return false;
    }
    const auto second = length > 1 ? static_cast<unsigned char>(text[i + 1]) : 0;
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
        (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) {
      return false;
    }
    i += length;
  }
  return true;
}

std::string base64_encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += i + k <= bytes.size() ? kBase64[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return out;
}

Result<std::string> base64_decode(std::string_view text) {
  const auto fail = [] { return make_error(ErrorCode::invalid_argument, "malformed base64 (RFC 4648, padded)"); };
  if (text.size() % 4 != 0) return fail();
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t group = 0;
    std::size_t padding = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const char c = text[i + k];
      const auto value = kBase64.find(c);
      if (c == '=' && i + 4 == text.size() && k >= 2) ++padding;
      else if (value == std::string_view::npos || padding) return fail();
      group = group << 6 | (c == '=' ? 0u : static_cast<std::uint32_t>(value));
    }
    for (std::size_t k = 0; k + padding < 3; ++k) out += static_cast<char>(group >> (16 - 8 * k) & 255);
  }
  return out;
}

Result<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      return make_error(ErrorCode::invalid_argument, "malformed percent escape at byte " + std::to_string(i));
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::string percent_encode(std::string_view bytes, bool keep_slash) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    const bool unreserved = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                            (byte >= '0' && byte <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
    if (unreserved || (keep_slash && c == '/')) {
      out += c;
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

}  // namespace harena
