#pragma once
// Signed URLs of /files: whoever has the URL may read or write that one path, without a token.

#include <cstdint>
#include <string>
#include <string_view>

#include "sdk/base/result.hpp"

namespace harena::e2b {

enum class FileOperation { read, write };

/// What a URL's query says. All decoded, none normalised.
struct SignedUrl {
  std::string path;
  FileOperation operation = FileOperation::read;
  /// Empty when the query names none.
  std::string user;
  std::string signature;
  /// Decimal seconds since the epoch as they came; empty: none.
  std::string expiration;
};

/// "v1_" and the base64, without padding, of the SHA-256 of path:operation:user:token[:expiration].
std::string sign(const SignedUrl& url, std::string_view token);

/// Same text? Takes as long whatever differs.
bool same_secret(std::string_view a, std::string_view b);

/// unauthenticated with the very words that E2B's clients look for: missing, invalid, and only then expired.
Status check_signature(const SignedUrl& url, std::string_view token, std::int64_t now_s);

}  // namespace harena::e2b
