#include "plugins/mcp/settings.hpp"

#include <algorithm>

namespace harena::mcp {

using nlohmann::json;

namespace {

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
  HARENA_TRY(static_cast<frontend::Listen&>(made), frontend::parse_listen(document, "127.0.0.1:7500", 10'000));
  made.allowed_origins = document.value("allowed_origins", made.allowed_origins);
  made.image = document.value("image", made.image);
  made.lifetime_s = document.value("lifetime_s", made.lifetime_s);
  made.idle_s = document.value("idle_s", made.idle_s);
  made.max_output_bytes = document.value("max_output_bytes", made.max_output_bytes);
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
