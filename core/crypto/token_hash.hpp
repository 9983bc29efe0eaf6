#pragma once
// Tokens: how a secret is made, hashed and compared.
//
// Plain SHA-256 is the right hash here, unlike for passwords: a token is 256 bits of getrandom(2), so nobody can
// guess it from its hash by trying, however fast the hash is; a slow hash or a salt would add nothing but the time
// of every request. What the hash must do is that a stolen store can't be used to log in, and SHA-256's preimage
// resistance does that.

#include <string>
#include <string_view>

#include "sdk/base/random.hpp"

namespace harena {

/// Bytes of randomness in a token: 64 hexadecimal digits after the prefix.
inline constexpr std::size_t kTokenSecretBytes = 32;
inline constexpr std::string_view kTokenPrefix = "hrn_";
/// The form that E2B's clients insist on; the same 64 digits.
inline constexpr std::string_view kE2bTokenPrefix = "e2b_";

/// `prefix` and 64 random lower-case hexadecimal digits.
std::string mint_token(RandomSource& random, std::string_view prefix = kTokenPrefix);
/// One of the two prefixes and 64 lower-case hexadecimal digits.
bool is_token(std::string_view text);
/// 64 hexadecimal digits of SHA-256 of the whole text, prefix included.
std::string token_hash(std::string_view token);

}  // namespace harena
