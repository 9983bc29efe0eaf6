#pragma once
// Which sandbox, and which port in it, a request is for: by its host name, or by the headers that the SDKs send.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sdk/base/result.hpp"
#include "sdk/http/headers.hpp"

namespace harena::e2b {

/// Where envd, that is we, answers.
inline constexpr std::uint16_t kEnvdPort = 49983;

struct Destination {
  std::string sandbox;
  std::uint16_t port = 0;
  bool operator==(const Destination&) const = default;
};

/// One of envd's own paths. /health is both planes'; with a sandbox's headers it is the sandbox that is asked about.
bool envd_path(std::string_view path);

/// `PORT-ID.DOMAIN` (further parts of the first label are skipped) wins over the headers E2b-Sandbox-Id and E2b-Sandbox-Port,
/// which count on every other host. With a `domain` only names in it are looked at so; it may have a port, which is skipped.
/// nullopt: for no sandbox; or with X-API-Key, the port kEnvdPort and a path that isn't one of envd's: some releases of the SDKs send all
/// their headers to both.
/// invalid_argument: a name or headers that say it half, or a port or an id that can't be.
Result<std::optional<Destination>> find_destination(const http::Headers& headers, std::string_view path, std::string_view domain);

}  // namespace harena::e2b
