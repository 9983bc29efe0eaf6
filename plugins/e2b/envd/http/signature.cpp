#include "plugins/e2b/envd/http/signature.hpp"

#include "sdk/base/text.hpp"
#include "sdk/digest/sha256.hpp"

namespace harena::e2b {

std::string sign(const SignedUrl& url, std::string_view token) {
  Sha256 hash;
  hash.update(url.path);
  hash.update(url.operation == FileOperation::read ? ":read:" : ":write:");
  hash.update(url.user);
  hash.update(":");
  hash.update(token);
  if (!url.expiration.empty()) hash.update(":" + url.expiration);
  const auto digest = hash.digest();
  auto text = base64_encode({reinterpret_cast<const char*>(digest.data()), digest.size()});
  while (text.ends_with('=')) text.pop_back();
  return "v1_" + text;
}

bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

Status check_signature(const SignedUrl& url, std::string_view token, std::int64_t now_s) {
  if (url.signature.empty()) return make_error(ErrorCode::unauthenticated, "missing signature query parameter");
  if (!same_secret(sign(url, token), url.signature)) return make_error(ErrorCode::unauthenticated, "invalid signature");
  if (url.expiration.empty()) return {};
  const auto expires = parse_int(url.expiration, 0, INT64_MAX, "signature_expiration");
  if (!expires) return make_error(ErrorCode::unauthenticated, "invalid signature expiration");
  if (*expires < now_s) return make_error(ErrorCode::unauthenticated, "signature is already expired");
  return {};
}

}  // namespace harena::e2b
