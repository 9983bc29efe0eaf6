#include "plugins/mcp/settings.hpp"

#include <algorithm>

#include "sdk/base/text.hpp"

namespace harena::mcp {

using nlohmann::json;

namespace {

Status parse_listen(const std::string& text, Settings& out) {
  const auto colon = text.rfind(':');
  const auto port = parse_int(colon == std::string::npos ? "" : text.substr(colon + 1), 0, 65'535, "port");
  if (!port.ok()) return make_error(ErrorCode::invalid_argument, "listen is '" + text + "'; ADDRESS:PORT is right, such as 127.0.0.1:7500");
  out.host = text.substr(0, colon);
  if (out.host.size() > 2 && out.host.front() == '[' && out.host.back() == ']') out.host = out.host.substr(1, out.host.size() - 2);
  out.port = static_cast<std::uint16_t>(*port);
  return ok_status();
}

/// "http://localhost:3000" -> "localhost"; empty for what isn't an origin.
std::string_view host_of(std::string_view origin) {
  const auto scheme = origin.find("://");
  if (scheme == std::string_view::npos) return {};
  auto host = origin.substr(scheme + 3);
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

}  // namespace

Result<Settings> parse_settings(const json& document) {
  Settings made;
  HARENA_TRY_STATUS(parse_listen(document.value("listen", "127.0.0.1:7500"), made));
  const auto tls = document.value("tls", json::object());
  made.tls_cert = tls.value("cert", "");
  made.tls_key = tls.value("key", "");
  made.allowed_origins = document.value("allowed_origins", made.allowed_origins);
  made.image = document.value("image", made.image);
  made.lifetime_s = document.value("lifetime_s", made.lifetime_s);
  made.idle_s = document.value("idle_s", made.idle_s);
  made.max_output_bytes = document.value("max_output_bytes", made.max_output_bytes);
  made.max_connections = document.value("max_connections", made.max_connections);
  return made;
}

bool may_call(const Settings& settings, std::string_view origin) {
  if (origin.empty()) return true;
  const auto host = host_of(origin);
  if (host == "localhost" || host == "127.0.0.1" || host == "[::1]") return true;
  const auto& known = settings.allowed_origins;
  return std::find(known.begin(), known.end(), origin) != known.end();
}

}  // namespace harena::mcp
