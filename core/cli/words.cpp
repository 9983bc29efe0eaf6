#include "core/cli/words.hpp"

#include "sdk/base/text.hpp"

namespace harena::cli {

namespace {

constexpr std::int64_t kMaxDurationMs = std::int64_t{100} * 365 * 86'400 * 1'000;

Error bad_duration(std::string_view text, std::string_view what) {
  return make_error(ErrorCode::invalid_argument, std::string(what) + " is '" + std::string(text) +
                                                     "'; a time looks like 90, 90s, 5m, 2h or 1d");
}

std::int64_t unit_ms(std::string_view unit) {
  if (unit == "ms") return 1;
  if (unit.empty() || unit == "s") return 1'000;
  if (unit == "m") return 60'000;
  if (unit == "h") return 3'600'000;
  return unit == "d" ? 86'400'000 : 0;
}

}  // namespace

SplitArguments split_arguments(int argc, const char* const* argv) {
  SplitArguments split;
  for (int at = 1; at < argc; ++at) {
    if (split.trailing) {
      split.trailing->emplace_back(argv[at]);
    } else if (std::string_view(argv[at]) == "--") {
      split.trailing.emplace();
    } else {
      split.ours.emplace_back(argv[at]);
    }
  }
  return split;
}

Result<std::int64_t> parse_duration_ms(std::string_view text, std::string_view what, std::int64_t min_ms) {
  const auto digits = text.find_first_not_of("0123456789");
  const auto number = text.substr(0, digits);
  const auto unit = unit_ms(digits == std::string_view::npos ? "" : text.substr(digits));
  if (number.empty() || unit == 0) return bad_duration(text, what);
  const auto value = parse_int(number, 0, kMaxDurationMs / unit, what);
  if (!value.ok()) return bad_duration(text, what);
  if (*value * unit < min_ms) {
    return make_error(ErrorCode::invalid_argument, std::string(what) + " is '" + std::string(text) + "'; it must be at least " +
                                                       (min_ms == 1 ? "1ms" : std::to_string(min_ms / 1'000) + "s"));
  }
  return *value * unit;
}

Result<std::int64_t> parse_duration_s(std::string_view text, std::string_view what, std::int64_t min_s) {
  HARENA_TRY(const auto ms, parse_duration_ms(text, what, min_s * 1'000));
  if (ms % 1'000 != 0) return bad_duration(text, what);
  return ms / 1'000;
}

Result<std::pair<std::string, std::string>> parse_pair(std::string_view text, std::string_view what) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return make_error(ErrorCode::invalid_argument, std::string(what) + " is '" + std::string(text) + "'; it looks like key=value");
  }
  return std::pair(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
}

Result<CopyPlace> parse_place(const std::string& text) {
  const auto colon = text.find(':');
  const auto slash = text.find('/');
  if (colon == std::string::npos || colon == 0 || slash < colon) return CopyPlace{"", text};
  CopyPlace place{text.substr(0, colon), text.substr(colon + 1)};
  if (place.path.starts_with('/')) return place;
  return make_error(ErrorCode::invalid_argument, "'" + text + "': the path in a sandbox is absolute, as in " + place.sandbox +
                                                     ":/" + place.path + "; a local file of that name is ./" + text);
}

Result<PortPair> parse_ports(const std::string& text) {
  const auto colon = text.find(':');
  const auto remote_text = colon == std::string::npos ? text : text.substr(colon + 1);
  HARENA_TRY(const auto remote, parse_int(remote_text, 1, 65'535, "the sandbox's port"));
  HARENA_TRY(const auto local, colon == std::string::npos ? Result<std::int64_t>(remote)
                                                          : parse_int(text.substr(0, colon), 0, 65'535, "the local port"));
  return PortPair{static_cast<std::uint16_t>(local), static_cast<std::uint16_t>(remote)};
}

}  // namespace harena::cli
