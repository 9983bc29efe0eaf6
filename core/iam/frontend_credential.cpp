#include "core/iam/frontend_credential.hpp"

#include "core/crypto/hmac.hpp"
#include "sdk/base/ids.hpp"

namespace harena {
namespace {

constexpr std::string_view kPrefix = "hrf_";
constexpr std::size_t kMacDigits = 64;

Result<std::string> mac_of(std::string_view signed_part, std::string_view key) {
  return hmac_sha256_hex(key, "act-for " + std::string(signed_part));
}

}  // namespace

bool is_frontend_credential(std::string_view text) { return text.starts_with(kPrefix); }

Result<std::string> sign(const FrontendCredential& credential, std::string_view key) {
  if (!credential.sandbox.empty()) HARENA_TRY_STATUS(SandboxId::parse(credential.sandbox));
  if (credential.plugin.empty()) return make_error(ErrorCode::invalid_argument, "a frontend's plugin id is empty");
  const std::string text = std::string(kPrefix) + credential.sandbox + "." + credential.plugin;
  HARENA_TRY(const auto mac, mac_of(text, key));
  return text + "." + mac;
}

std::optional<FrontendCredential> verify(std::string_view text, std::string_view key) {
  if (!is_frontend_credential(text) || text.size() < kPrefix.size() + kMacDigits + 2) return std::nullopt;
  const auto signed_part = text.substr(0, text.size() - kMacDigits - 1);
  const auto mac = mac_of(signed_part, key);
  if (!mac.ok() || !constant_time_equal(*mac, text.substr(text.size() - kMacDigits))) return std::nullopt;
  const auto inner = signed_part.substr(kPrefix.size());
  const auto dot = inner.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  return FrontendCredential{std::string(inner.substr(0, dot)), std::string(inner.substr(dot + 1))};
}

}  // namespace harena
