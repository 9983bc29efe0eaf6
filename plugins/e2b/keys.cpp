#include "plugins/e2b/keys.hpp"

#include "sdk/digest/sha256.hpp"

namespace harena::e2b {
namespace {

/// HMAC's construction isn't needed: the secret has a fixed length and the message its own prefix, and SHA-256 is applied
/// twice, so that no output can be extended to another message's.
std::string derive(std::string_view secret, std::string_view purpose, std::string_view id) {
  std::string text(secret);
  text.append(" ").append(purpose).append(" ").append(id);
  return sha256_hex(std::string(secret) + sha256_hex(text));
}

}  // namespace

Result<Keys> Keys::make(const plugin::HostApi& host) {
  HARENA_TRY(auto secret, host.secret("tokens"));
  return Keys(host, std::move(secret));
}

std::string Keys::envd_token(std::string_view sandbox_id) const { return derive(secret_, "envd", sandbox_id); }
std::string Keys::traffic_token(std::string_view sandbox_id) const { return derive(secret_, "traffic", sandbox_id); }

bool equal_secrets(std::string_view a, std::string_view b) {
  unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    difference = static_cast<unsigned char>(difference | (a[i] ^ b[i]));
  }
  return difference == 0;
}

}  // namespace harena::e2b
