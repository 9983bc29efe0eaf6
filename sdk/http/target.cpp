#include "sdk/http/target.hpp"

#include <algorithm>

#include "sdk/base/text.hpp"

namespace harena::http {
namespace {

std::string_view without_authority(std::string_view target) {
  const auto scheme = target.find("://");
  if (scheme == std::string_view::npos || scheme == 0) return {};
  const auto start = target.find_first_of("/?", scheme + 3);
  return start == std::string_view::npos ? std::string_view("/") : target.substr(start);
}

// Before and after the first `separator`; without one, all and nothing.
std::pair<std::string_view, std::string_view> cut(std::string_view text, char separator) {
  const auto at = text.find(separator);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

Result<std::string> decode_query(std::string_view text) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return percent_decode(spaced);
}

}  // namespace

TargetParts split_target(std::string_view target) {
  if (target != "*" && !target.starts_with('/')) target = without_authority(target);
  const auto fragment = target.find('#');  // not allowed on the wire; never part of a name
  target = target.substr(0, fragment);
  const auto mark = target.find('?');
  if (mark == std::string_view::npos) return {target, std::nullopt};
  const auto path = target.substr(0, mark);
  return {path.empty() ? std::string_view("/") : path, target.substr(mark + 1)};
}

Result<std::vector<std::string>> path_segments(std::string_view path) {
  std::vector<std::string> segments;
  if (path.starts_with('/')) path.remove_prefix(1);
  if (path.empty()) return segments;
  while (true) {
    const auto slash = path.find('/');
    HARENA_TRY(auto decoded, percent_decode(path.substr(0, slash)));
    segments.push_back(std::move(decoded));
    if (slash == std::string_view::npos) return segments;
    path.remove_prefix(slash + 1);
  }
}

Result<Query> Query::parse(std::string_view query) {
  Query parsed;
  while (!query.empty()) {
    const auto [element, rest] = cut(query, '&');
    query = rest;
    if (element.empty()) continue;
    const auto [encoded_name, encoded_value] = cut(element, '=');
    HARENA_TRY(auto name, decode_query(encoded_name));
    HARENA_TRY(auto value, decode_query(encoded_value));
    parsed.pairs_.emplace_back(std::move(name), std::move(value));
  }
  return parsed;
}

std::optional<std::string_view> Query::get(std::string_view name) const {
  for (const auto& [key, value] : pairs_) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::vector<std::string_view> Query::get_all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : pairs_) {
    if (key == name) values.push_back(value);
  }
  return values;
}

Status Query::allow_only(std::span<const std::string> known) const {
  for (const auto& [key, value] : pairs_) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string what = "unknown query parameter '" + key + "'";
    if (known.empty()) return make_error(ErrorCode::invalid_argument, what + ": this call has none");
    return make_error(ErrorCode::invalid_argument, what + suggestion(key, known));
  }
  return ok_status();
}

Status Query::refuse_repeated(std::string_view repeatable) const {
  for (auto pair = pairs_.begin(); pair != pairs_.end(); ++pair) {
    const auto& key = pair->first;
    const bool again = std::any_of(pairs_.begin(), pair, [&](const Pair& before) { return before.first == key; });
    if (again && key != repeatable) return make_error(ErrorCode::invalid_argument, "query parameter '" + key + "' comes more than once; give it once");
  }
  return ok_status();
}

}  // namespace harena::http
