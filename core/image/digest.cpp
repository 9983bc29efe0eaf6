#include "core/image/digest.hpp"

#include "sdk/digest/sha256.hpp"

namespace harena::image {
namespace {

constexpr std::string_view kPrefix = "sha256:";
constexpr std::size_t kHexDigits = 64;

Error bad_digest(std::string_view text, std::string why) {
  return make_error(ErrorCode::invalid_argument,
                    "digest '" + std::string(text.substr(0, 80)) + "' " + std::move(why) +
                        "; it must be 'sha256:' and 64 of 0-9 a-f");
}

}  // namespace

Result<Digest> Digest::parse(std::string_view text) {
  if (!text.starts_with(kPrefix)) return bad_digest(text, "doesn't begin with 'sha256:'");
  const auto hex = text.substr(kPrefix.size());
  if (hex.size() != kHexDigits) return bad_digest(text, "has " + std::to_string(hex.size()) + " digits");
  const auto wrong = hex.find_first_not_of("0123456789abcdef");
  if (wrong != std::string_view::npos) {
    return bad_digest(text, "has a wrong digit at position " + std::to_string(kPrefix.size() + wrong + 1));
  }
  return Digest(std::string(text));
}

Digest Digest::of(std::string_view bytes) { return Digest(std::string(kPrefix) + sha256_hex(bytes)); }

}  // namespace harena::image
