#pragma once
// Small text helpers that error messages and parsers share.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.hpp"

namespace harena {

/// The candidate nearest to `word` by edit distance (Levenshtein, at most a third of the longer one's
/// length plus one), for "did you mean"; nullopt when none is near.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

/// ", did you mean 'x'?" or "; known: a, b, c" for an unknown name.
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

/// Splits at every `separator`; "a,,b" gives three parts, "" gives none.
std::vector<std::string> split(std::string_view text, char separator);

/// A whole decimal integer in [min, max]; the error names the text and the range.
Result<std::int64_t> parse_int(std::string_view text, std::int64_t min, std::int64_t max,
                               std::string_view what);

/// "64MiB", "1.5GiB", "512k", "1000": bytes. Suffixes K M G T with optional iB are powers of 1024
/// (as in systemd.resource-control); invalid_argument for anything else, negative or over 2^62.
Result<std::int64_t> parse_size(std::string_view text);

/// Valid UTF-8 (RFC 3629: no surrogates, no overlong forms).
bool is_utf8(std::string_view text);

/// A to Z as a to z, other bytes as they are, in any locale.
std::string ascii_lower(std::string_view text);

/// RFC 4648 base64 with padding.
std::string base64_encode(std::string_view bytes);
Result<std::string> base64_decode(std::string_view text);

/// Percent-decoding of RFC 3986; `+` stays a plus. invalid_argument for a malformed escape.
Result<std::string> percent_decode(std::string_view text);
/// Encodes all but the unreserved characters of RFC 3986; `/` is kept when `keep_slash`.
std::string percent_encode(std::string_view bytes, bool keep_slash = false);

}  // namespace harena
