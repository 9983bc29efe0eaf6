#pragma once
// Sandbox ids: 20 characters [0-9a-z], 5 of the edge's code and 15 random. The id names its edge, so routing
// needs no table; 20 characters leave room for "PORT-" in one DNS label (63 at most, RFC 1035).

#include <compare>
#include <functional>
#include <string>
#include <string_view>

#include "sdk/base/random.hpp"
#include "sdk/base/result.hpp"

namespace harena {

inline constexpr std::size_t kEdgeCodeLength = 5;
inline constexpr std::size_t kSandboxIdLength = 20;

class SandboxId {
 public:
  /// invalid_argument unless `text` is 20 characters of [0-9a-z].
  static Result<SandboxId> parse(std::string_view text);
  /// Precondition: is_edge_code(edge_code).
  static SandboxId generate(std::string_view edge_code, RandomSource& random);

  const std::string& str() const { return text_; }
  std::string_view edge_code() const { return std::string_view(text_).substr(0, kEdgeCodeLength); }
  auto operator<=>(const SandboxId&) const = default;

 private:
  explicit SandboxId(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// Exactly 5 characters of [0-9a-z].
bool is_edge_code(std::string_view text);

}  // namespace harena

template <>
struct std::hash<harena::SandboxId> {
  std::size_t operator()(const harena::SandboxId& id) const noexcept {
    return std::hash<std::string>{}(id.str());
  }
};
