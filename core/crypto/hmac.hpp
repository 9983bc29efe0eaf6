#pragma once
// HMAC-SHA-256, and a comparison whose time doesn't depend on where two texts differ.

#include <string>
#include <string_view>

#include "sdk/base/result.hpp"

namespace harena {

/// 64 lower-case hexadecimal digits (RFC 2104 with SHA-256). internal when OpenSSL fails.
Result<std::string> hmac_sha256_hex(std::string_view key, std::string_view message);

/// The time depends on the lengths only, and those are not secret.
bool constant_time_equal(std::string_view a, std::string_view b);

}  // namespace harena
