#include "plugins/mcp/sessions.hpp"

#include "plugins/mcp/envelope.hpp"
#include "sdk/digest/sha256.hpp"

namespace harena::mcp {

namespace {

bool equal_secrets(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace

/// HMAC's construction isn't needed: the secret has a fixed length and SHA-256 is applied twice, so no seal can be extended to another's.
std::string Sessions::seal(std::string_view body, std::string_view token) const {
  return sha256_hex(secret_ + sha256_hex(secret_ + " " + std::string(body) + " " + sha256_hex(std::string(token))));
}

std::string Sessions::make(std::string_view token, std::string_view revision) {
  std::string body;
  {
    std::lock_guard lock(mutex_);
    body = random_.hex(16) + "." + std::string(revision);
  }
  return body + "." + seal(body, token);
}

std::optional<std::string> Sessions::find(std::string_view id, std::string_view token) const {
  const auto last = id.rfind('.');
  const auto first = id.find('.');
  if (last == std::string_view::npos || first == last) return std::nullopt;
  if (!equal_secrets(id.substr(last + 1), seal(id.substr(0, last), token))) return std::nullopt;
  const auto revision = id.substr(first + 1, last - first - 1);
  if (!is_handshake_revision(revision)) return std::nullopt;
  std::lock_guard lock(mutex_);
  return ended_.contains(id) ? std::nullopt : std::optional<std::string>(revision);
}

void Sessions::end(const std::string& id) {
  std::lock_guard lock(mutex_);
  if (!ended_.insert(id).second) return;
  order_.push_back(id);
  if (order_.size() <= kRemembered) return;
  ended_.erase(order_.front());
  order_.pop_front();
}

}  // namespace harena::mcp
