#pragma once
// The plugin's configuration, typed. settings_schema.hpp has its schema.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "sdk/base/result.hpp"
#include "sdk/frontend/listener.hpp"

namespace harena::mcp {

struct Settings : frontend::Listen {
  std::vector<std::string> allowed_origins;  ///< "https://app.example.org"
  std::string image = "root/base:v1";
  std::int64_t lifetime_s = 3600;
  std::int64_t idle_s = 1800;                ///< 0: never
  std::int64_t max_output_bytes = 65'536;    ///< of each stream, and of a file, in one answer
};

/// `document` is valid against kSettingsSchema. invalid_argument for what a schema can't say.
Result<Settings> parse_settings(const nlohmann::json& document);

/// An origin that may call: none (no browser), of this machine's loopback, or one of the settings'.
bool may_call(const Settings& settings, std::string_view origin);

}  // namespace harena::mcp
