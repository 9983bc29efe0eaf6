#include "core/crypto/token_hash.hpp"

#include <algorithm>

#include "sdk/digest/sha256.hpp"

namespace harena {

std::string mint_token(RandomSource& random, std::string_view prefix) {
  return std::string(prefix) + random.hex(kTokenSecretBytes);
}

bool is_token(std::string_view text) {
  if (!text.starts_with(kTokenPrefix) && !text.starts_with(kE2bTokenPrefix)) return false;
  const auto digits = text.substr(kTokenPrefix.size());
  return digits.size() == 2 * kTokenSecretBytes && std::all_of(digits.begin(), digits.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string token_hash(std::string_view token) { return sha256_hex(token); }

}  // namespace harena
