#include "core/config/load.hpp"

#include <cstdlib>
#include <fstream>

#include "core/config/json_text.hpp"
#include "core/config/listen_address.hpp"
#include "sdk/base/text.hpp"
#include "sdk/schema/schema.hpp"

namespace harena {

using nlohmann::json;

namespace {

/// A variable of the environment and the key that it sets.
struct Override {
  const char* name;
  const char* pointer;
  bool list;  ///< separated by colons
};
constexpr Override kOverrides[] = {
    {"HARENA_API_LISTEN", "/api/listen", false},   {"HARENA_HEALTH_LISTEN", "/health/listen", false},
    {"HARENA_STATE_DIR", "/state_dir", false},     {"HARENA_RUN_DIR", "/run_dir", false},
    {"HARENA_PLUGIN_DIRS", "/plugin_dirs", true},  {"HARENA_EDGE_CODE", "/edge/code", false},
    {"HARENA_LOG_LEVEL", "/log/level", false},     {"HARENA_LOG_FORMAT", "/log/format", false},
};

Error from_source(Error error, const std::string& source) {
  error.message = source + ": " + error.message;
  return error;
}

Result<ListenAddress> listen_at(const json& document, const char* section) {
  auto address = parse_listen_address(document.at(section).at("listen").get<std::string>());
  if (address) return address;
  Error error = std::move(address).error();
  error.message = std::string(section) + ".listen is " + error.message;
  return error;
}

void read_plugins(const json& document, Config& config) {
  for (const auto& [name, value] : document.at("plugins").items()) {
    config.plugins[name] = {value.at("enabled").get<bool>(), value.at("config")};
  }
}

void read_numbers(const json& document, Config& config) {
  const auto& edge = document.at("edge");
  config.edge = {edge.at("code").get<std::string>(), edge.at("cpu_overcommit").get<double>(),
                 edge.at("memory_fraction").get<double>(), edge.at("max_sandboxes").get<std::int64_t>()};
  const auto& limits = document.at("limits");
  config.limits.max_body_bytes = limits.at("max_body_bytes").get<std::int64_t>();
  config.limits.max_connections = limits.at("max_connections").get<std::int64_t>();
  config.limits.drain_s = limits.at("drain_s").get<std::int64_t>();
  config.limits.io_threads = limits.at("io_threads").get<std::int64_t>();
  config.limits.worker_threads = limits.at("worker_threads").get<std::int64_t>();
  config.log = {document.at("log").at("level").get<std::string>(), document.at("log").at("format").get<std::string>()};
}

/// `document` is valid and complete.
Result<Config> typed(const json& document) {
  Config config;
  HARENA_TRY(config.api, listen_at(document, "api"));
  HARENA_TRY(config.health, listen_at(document, "health"));
  config.state_dir = document.at("state_dir").get<std::string>();
  config.run_dir = document.at("run_dir").get<std::string>();
  config.plugin_dirs = document.at("plugin_dirs").get<std::vector<std::string>>();
  read_plugins(document, config);
  read_numbers(document, config);
  if (const auto tls = document.at("api").find("tls"); tls != document.at("api").end()) {
    config.tls = TlsConfig{tls->at("cert").get<std::string>(), tls->at("key").get<std::string>()};
  }
  return config;
}

/// Checks, fills in defaults and types; errors begin with `source`.
Result<Config> config_of(const json& document, const std::string& source) {
  HARENA_TRY(const auto schema, schema::Schema::compile(config_schema()));
  auto complete = schema.apply(document);
  if (!complete) return from_source(std::move(complete).error(), source);
  auto config = typed(*complete);
  if (!config) return from_source(std::move(config).error(), source);
  return config;
}

Result<json> document_of(const std::string& text, const std::string& source) {
  auto document = parse_commented_json(text);
  if (!document) return from_source(std::move(document).error(), source);
  if (document->is_object()) return document;
  return make_error(ErrorCode::invalid_argument, source + ": it is " + document->type_name() + "; an object is right");
}

Result<std::string> read_file(const std::filesystem::path& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) {
    const bool missing = !std::filesystem::exists(path, failed);
    return make_error(missing ? ErrorCode::not_found : ErrorCode::invalid_argument,
                      "the configuration file '" + path.string() + "' " + (missing ? "isn't there" : "is no file"));
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(kMaxConfigBytes) + 1, '\0');
  file.read(text.data(), std::ssize(text));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad() || (!file && !file.eof())) return errno_error(errno, "reading '" + path.string() + "'");
  if (std::ssize(text) <= kMaxConfigBytes) return text;
  return make_error(ErrorCode::resource_exhausted, path.string() + " is over 1 MiB; a configuration has less");
}

/// Empty when there is none, which is right only for the default place.
Result<std::optional<std::filesystem::path>> find_file(const std::optional<std::filesystem::path>& explicit_file,
                                                       const Environment& environment) {
  if (explicit_file) return explicit_file;
  if (const auto named = environment("HARENA_CONFIG")) return std::optional(std::filesystem::path(*named));
  std::error_code failed;
  if (std::filesystem::exists(kDefaultConfigFile, failed)) {
    return std::optional(std::filesystem::path(kDefaultConfigFile));
  }
  return std::optional<std::filesystem::path>();
}

json override_value(const Override& one, const std::string& text) {
  if (!one.list) return text;
  auto parts = json::array();
  for (const auto& part : split(text, ':')) parts.push_back(part);
  return parts;
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
}

Result<Config> parse_config(const std::string& text, const std::string& source) {
  HARENA_TRY(const auto document, document_of(text, source));
  return config_of(document, source);
}

Result<Config> load_config(const std::optional<std::filesystem::path>& explicit_file, const Environment& environment) {
  json document = json::object();
  HARENA_TRY(const auto file, find_file(explicit_file, environment));
  if (file) {
    HARENA_TRY(const auto text, read_file(*file));
    HARENA_TRY(document, document_of(text, file->string()));
  }
  HARENA_TRY(auto config, config_of(document, file ? file->string() : "the defaults"));
  for (const auto& one : kOverrides) {
    const auto value = environment(one.name);
    if (!value) continue;
    document[json::json_pointer(one.pointer)] = override_value(one, *value);
    HARENA_TRY(config, config_of(document, std::string("environment variable ") + one.name));
  }
  return config;
}

}  // namespace harena
