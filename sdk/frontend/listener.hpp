#pragma once
// Where a frontend listens: the settings `listen`, `tls` and `max_connections`, which all frontends have alike, and the server from them.

#include <cstdint>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "sdk/base/result.hpp"
#include "sdk/http/server.hpp"

namespace harena::frontend {

struct Listen {
  std::string host;
  std::uint16_t port = 0;  ///< 0: any free one
  std::string tls_cert;    ///< PEM files; both or none
  std::string tls_key;
  std::size_t max_connections = 0;
};

/// `document` is valid against the plugin's schema. `fallback` holds where it says nothing of `listen` ("127.0.0.1:7400"), and is the example
/// of what is right: invalid_argument otherwise.
Result<Listen> parse_listen(const nlohmann::json& document, const std::string& fallback, std::size_t max_connections);

/// Errors: those of the TLS files, and of taking the address.
Result<std::unique_ptr<http::Server>> start_server(http::IoThreads& io, const Listen& listen, http::Handler handler);

/// "http://127.0.0.1:7400", "https://[::1]:7400", once the port is the one that was taken.
std::string url_of(const Listen& listen);

}  // namespace harena::frontend
