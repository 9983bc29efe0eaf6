#pragma once
// Reading the configuration: defaults, then the file, then HARENA_* of the environment.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/config/config.hpp"
#include "sdk/base/result.hpp"

namespace harena {

inline constexpr const char* kDefaultConfigFile = "/etc/harena/harena.json";
/// A configuration is written by people.
inline constexpr std::int64_t kMaxConfigBytes = 1 << 20;

/// The value of an environment variable; nullopt when it isn't set. Passed in, so that tests hold it.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
/// getenv.
Environment process_environment();

/// `explicit_file` (--config) must exist; without one HARENA_CONFIG is taken, and kDefaultConfigFile if it exists.
/// Errors are invalid_argument (not_found for a missing file) and name the file or variable, the key's path, the
/// value and what would be right: "harena.json: 'edge.cpu_overcommit' is 0; it must be from 1 to 1000".
Result<Config> load_config(const std::optional<std::filesystem::path>& explicit_file, const Environment& environment);

/// The text of a file: JSON with comments. Duplicate and unknown keys are errors. `source` begins the messages.
Result<Config> parse_config(const std::string& text, const std::string& source);

/// The JSON Schema (2020-12) that files are checked against.
const nlohmann::json& config_schema();

}  // namespace harena
