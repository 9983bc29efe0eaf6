#pragma once
// Digest: the name of a blob, "sha256:" and 64 lower-case hexadecimal digits.

#include <compare>
#include <string>
#include <string_view>

#include "sdk/base/result.hpp"

namespace harena::image {

class Digest {
 public:
  /// Strict; invalid_argument names the text and what is wrong with it.
  static Result<Digest> parse(std::string_view text);
  /// The digest of these bytes.
  static Digest of(std::string_view bytes);

  /// "sha256:...".
  const std::string& str() const { return text_; }
  /// The 64 hexadecimal digits alone.
  std::string_view hex() const { return std::string_view(text_).substr(7); }
  auto operator<=>(const Digest&) const = default;

 private:
  explicit Digest(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

}  // namespace harena::image
