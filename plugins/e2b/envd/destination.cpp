#include "plugins/e2b/envd/destination.hpp"

#include <algorithm>
#include <array>

#include "sdk/base/text.hpp"

namespace harena::e2b {

namespace {

constexpr std::size_t kMaxIdBytes = 63;  // of a DNS label

bool digit(char c) { return c >= '0' && c <= '9'; }

/// Without the port; a trailing dot is the root's.
std::string_view host_name(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']'));
  host = host.substr(0, host.find(':'));
  if (host.ends_with('.')) host.remove_suffix(1);
  return host;
}

Status check_id(std::string_view id) {
  const bool fits = !id.empty() && id.size() <= kMaxIdBytes &&
                    std::all_of(id.begin(), id.end(), [](char c) { return digit(c) || (c >= 'a' && c <= 'z'); });
  if (fits) return {};
  return make_error(ErrorCode::invalid_argument, "sandbox id '" + std::string(id) + "'; small letters and digits are right");
}

Result<std::optional<Destination>> make_destination(std::string_view id, std::string_view port_text) {
  HARENA_TRY_STATUS(check_id(id));
  HARENA_TRY(const auto port, parse_int(port_text, 1, 65535, "the sandbox's port"));
  return std::optional<Destination>(Destination{std::string(id), static_cast<std::uint16_t>(port)});
}

/// The first label of a name that has the shape PORT-ID; empty for any other.
std::string_view sandbox_label(std::string_view name, std::string_view domain) {
  const auto dot = name.find('.');
  if (dot == std::string_view::npos) return {};
  if (!domain.empty() && name.substr(dot + 1) != domain) return {};
  const auto label = name.substr(0, dot);
  const auto dash = label.find('-');
  if (dash == 0 || dash == std::string_view::npos) return {};
  return std::all_of(label.begin(), label.begin() + static_cast<std::ptrdiff_t>(dash), digit) ? label : std::string_view();
}

Result<std::optional<Destination>> by_headers(const http::Headers& headers, std::string_view path) {
  const auto id = headers.get("E2b-Sandbox-Id");
  const auto port = headers.get("E2b-Sandbox-Port");
  if (!id && !port) return std::optional<Destination>();
  if (!id || !port) {
    return make_error(ErrorCode::invalid_argument, "E2b-Sandbox-Id and E2b-Sandbox-Port belong together; one of them is missing");
  }
  // SDKs of early 2026 send both to the control API too, and after a connect the key to envd.
  if (headers.get("X-API-Key") && *port == std::to_string(kEnvdPort) && !envd_path(path)) return std::optional<Destination>();
  return make_destination(*id, *port);
}

}  // namespace

bool envd_path(std::string_view path) {
  static constexpr std::array<std::string_view, 4> kWhole = {"/health", "/files", "/envs", "/metrics"};
  static constexpr std::array<std::string_view, 3> kBelow = {"/process.Process/", "/filesystem.Filesystem/", "/files/"};
  return std::find(kWhole.begin(), kWhole.end(), path) != kWhole.end() ||
         std::any_of(kBelow.begin(), kBelow.end(), [path](std::string_view below) { return path.starts_with(below); });
}

Result<std::optional<Destination>> find_destination(const http::Headers& headers, std::string_view path, std::string_view domain) {
  const auto name = ascii_lower(host_name(headers.get("Host").value_or("")));
  const auto own = ascii_lower(host_name(domain));
  const auto label = sandbox_label(name, own);
  if (label.empty()) return by_headers(headers, path);
  const auto dash = label.find('-');
  const auto id = label.substr(dash + 1);
  return make_destination(id.substr(0, id.find('-')), label.substr(0, dash));
}

}  // namespace harena::e2b
