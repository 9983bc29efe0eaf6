#pragma once
// Where a Harena server is and who asks: what was given, then the environment, then this machine's own installation.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "sdk/base/result.hpp"

namespace harena::client {

inline constexpr std::string_view kDefaultUrl = "http://127.0.0.1:7300";
inline constexpr std::string_view kAdminTokenFile = "/var/lib/harena/admin.token";

struct Endpoint {
  bool tls = false;
  std::string host;
  std::uint16_t port = 0;
  /// Before every path of the API: "/v1", or "/prefix/v1" behind a proxy. No slash at its end.
  std::string base_path;
  std::string token;

  /// The host is 127.0.0.0/8, ::1 or localhost.
  bool loopback() const;
  /// "http://127.0.0.1:7300", for messages: without the token.
  std::string describe() const;
};

/// `invalid_argument` naming the text for anything but http(s)://host[:port][/prefix]. The token is left empty.
Result<Endpoint> parse_url(std::string_view url);

struct DiscoveryInputs {
  /// From the command line; empty when not given.
  std::string url;
  std::string token;
  /// getenv, or a table in tests; null or an empty text means unset.
  std::function<std::optional<std::string>(const std::string& name)> environment;
  std::string token_file = std::string(kAdminTokenFile);
};

/// URL: given, HARENA_URL, kDefaultUrl. Token: given, HARENA_TOKEN, the admin token file when it can be read and the URL is
/// this machine's own (it is never sent anywhere else). `unauthenticated`, saying what to set, when there is no token.
Result<Endpoint> discover(const DiscoveryInputs& inputs);

}  // namespace harena::client
