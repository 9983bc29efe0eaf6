#pragma once
// Small parsers of what users type.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sdk/base/result.hpp"

namespace harena::cli {

struct SplitArguments {
  std::vector<std::string> ours;
  /// What stood behind the first "--", untouched; nullopt without one.
  std::optional<std::vector<std::string>> trailing;
};

/// argv without the program's name, cut at the first "--".
SplitArguments split_arguments(int argc, const char* const* argv);

/// "90", "90s", "5m", "2h", "1d", "250ms": milliseconds, at least `min_ms`. `invalid_argument` names `what` and the text.
Result<std::int64_t> parse_duration_ms(std::string_view text, std::string_view what, std::int64_t min_ms = 1);
/// The same in whole seconds; "250ms" is refused.
Result<std::int64_t> parse_duration_s(std::string_view text, std::string_view what, std::int64_t min_s = 0);

/// "key=value", cut at the first "="; the value may be empty, the key may not.
Result<std::pair<std::string, std::string>> parse_pair(std::string_view text, std::string_view what);

/// "ID:/path" of `cp`. A word whose part before ":" contains a slash, or that has no ":", is a local path.
struct CopyPlace {
  std::string sandbox;  // empty: this machine
  std::string path;
};
Result<CopyPlace> parse_place(const std::string& text);

/// "8080" or "8000:80": local and remote port. A local port of 0 is any free one.
struct PortPair {
  std::uint16_t local = 0;
  std::uint16_t remote = 0;
};
Result<PortPair> parse_ports(const std::string& text);

}  // namespace harena::cli
