#pragma once
// Request targets: pure functions over outside bytes (a fuzz target runs over them).

#include <optional>
#include <string>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "sdk/base/result.hpp"

namespace harena::http {

/// The parts of a request target, still encoded; views into it.
struct TargetParts {
  /// From the first slash to the `?`; "*" for `OPTIONS *`; "" for the authority form (CONNECT).
  std::string_view path;
  /// After the `?`, without it; nullopt when there is no `?`.
  std::optional<std::string_view> query;
};

/// Splits the origin form (`/a?b`) and the absolute form (`http://host/a?b`); `*` is its own path.
TargetParts split_target(std::string_view target);

/// The segments of a path, split at `/` first and percent-decoded then, so `/a%2Fb/c` is {"a/b", "c"}. "/" and ""
/// have none; "/a/" is {"a", ""}. Bytes are as they come: no normalisation, `..` stays, NUL may occur.
/// invalid_argument for a malformed escape.
Result<std::vector<std::string>> path_segments(std::string_view path);

/// An ordered query.
class Query {
 public:
  using Pair = std::pair<std::string, std::string>;

  /// `a=1&b&c=%20+` is {a,1}, {b,""}, {c,"  "}: split at `&`, then at the first `=`, then `+` is a space and
  /// escapes are decoded to any bytes. Empty elements are skipped. invalid_argument for a malformed escape.
  static Result<Query> parse(std::string_view query);

  std::optional<std::string_view> get(std::string_view name) const;
  std::vector<std::string_view> get_all(std::string_view name) const;
  bool contains(std::string_view name) const { return get(name).has_value(); }
  const std::vector<Pair>& pairs() const { return pairs_; }

  /// OK if every name is one of `known`; else invalid_argument naming the unknown one and the nearest.
  Status allow_only(std::span<const std::string> known) const;
  /// OK if every name but `repeatable` comes once; else invalid_argument naming it: which of its values is meant can't be told.
  Status refuse_repeated(std::string_view repeatable) const;

 private:
  std::vector<Pair> pairs_;
};

}  // namespace harena::http
