#pragma once
// Reading JSON that somebody else wrote: nothing in it is dropped silently.

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "sdk/base/result.hpp"

namespace harena {

inline constexpr int kMaxJsonDepth = 64;

/// JSON with // and /* */ comments. invalid_argument names line and column of a syntax error, the path of a key that
/// an object has twice (of which JSON parsers keep one silently), or the depth when it is over kMaxJsonDepth.
Result<nlohmann::json> parse_commented_json(const std::string& text);

/// The same without comments, for what a program sent.
Result<nlohmann::json> parse_plain_json(std::string_view text);

}  // namespace harena
