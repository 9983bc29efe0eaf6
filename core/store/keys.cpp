#include "core/store/keys.hpp"

#include <algorithm>
#include <charconv>

namespace harena::keys {
namespace {

/// Digits of a time in milliseconds: 19 hold every int64, so that text order is the order of time.
constexpr std::size_t kTimeDigits = 19;

std::string join(std::string_view prefix, std::string_view rest) {
  std::string key(prefix);
  key += rest;
  return key;
}

std::string timed(std::string_view prefix, std::int64_t time_ms, const SandboxId& id) {
  return time_bound(prefix, time_ms) + ":" + id.str();
}

}  // namespace

std::string sandbox(const SandboxId& id) { return join(kSandboxes, id.str()); }
std::string ended(std::int64_t ended_ms, const SandboxId& id) { return timed(kEnded, ended_ms, id); }
std::string idempotency(const ProjectPath& project, std::string_view key) {
  return join(kIdempotency, project.str()) + ":" + std::string(key);
}
std::string idempotency_ends(std::int64_t ends_ms, const SandboxId& id) {
  return timed(kIdempotencyEnds, ends_ms, id);
}
std::string project(const ProjectPath& path) { return join(kProjects, path.str()); }
std::string token(std::string_view secret_hash) { return join(kTokens, secret_hash); }
std::string meta(std::string_view name) { return join(kMeta, name); }

std::string time_bound(std::string_view prefix, std::int64_t time_ms) {
  const std::string digits = std::to_string(std::max<std::int64_t>(time_ms, 0));
  return join(prefix, std::string(kTimeDigits - digits.size(), '0') + digits);
}

std::int64_t time_of(std::string_view prefix, std::string_view key) {
  if (!key.starts_with(prefix) || key.size() < prefix.size() + kTimeDigits) return -1;
  const auto digits = key.substr(prefix.size(), kTimeDigits);
  std::int64_t time_ms = -1;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), time_ms);
  return parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size() ? time_ms : -1;
}

Result<SandboxId> id_of(std::string_view key) {
  const auto separator = key.find_last_of(":/");
  return SandboxId::parse(separator == std::string_view::npos ? key : key.substr(separator + 1));
}

std::string after_prefix(std::string_view prefix) {
  std::string bound(prefix);
  while (!bound.empty() && static_cast<unsigned char>(bound.back()) == 0xff) bound.pop_back();
  if (!bound.empty()) bound.back() = static_cast<char>(static_cast<unsigned char>(bound.back()) + 1);
  return bound;
}

std::string successor(std::string_view key) { return std::string(key) + '\0'; }

}  // namespace harena::keys
