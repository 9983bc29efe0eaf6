#pragma once
// Config: everything an operator can set, typed and with defaults. docs/configuration.md is checked against it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace harena {

/// Where a server listens. Port 0: any free one (tests).
struct ListenAddress {
  std::string host;
  std::uint16_t port = 0;
  /// "127.0.0.1:7300", "[::1]:7300".
  std::string str() const;
  bool operator==(const ListenAddress&) const = default;
};

/// One plugin, by its short name ("container") or its id ("dev.harena.container").
struct PluginConfig {
  bool enabled = true;
  nlohmann::json config = nlohmann::json::object();  ///< the plugin's own; checked against its schema at load
};

struct EdgeConfig {
  std::string code;                    ///< 5 characters [0-9a-z]; empty: made at the first start
  double cpu_overcommit = 8.0;         ///< promised CPUs for each real one (architecture.md)
  double memory_fraction = 0.9;        ///< of the machine's memory that sandboxes may be promised
  std::int64_t max_sandboxes = 10'000;
};

struct LimitsConfig {
  std::int64_t max_body_bytes = 8ll << 20;  ///< of a request that isn't a stream
  std::int64_t io_threads = 0;              ///< 0: one a CPU
  std::int64_t worker_threads = 32;         ///< for calls that block
  std::int64_t max_connections = 20'000;
  std::int64_t drain_s = 20;  ///< what requests in flight have at a stop
};

struct LogConfig {
  std::string level = "info";   ///< debug | info | warning | error
  std::string format = "text";  ///< text | json
};

struct TlsConfig {
  std::string cert;  ///< PEM files, absolute paths
  std::string key;
};

struct Config {
  ListenAddress api{"127.0.0.1", 7300};
  ListenAddress health{"127.0.0.1", 9467};
  std::string state_dir = "/var/lib/harena";
  std::string run_dir = "/run/harena";
  std::vector<std::string> plugin_dirs = {"/usr/local/lib/harena/plugins", "/usr/lib/harena/plugins"};
  std::map<std::string, PluginConfig> plugins = {
      {"statestore-sqlite", {}}, {"imagestore-local", {}}, {"container", {}}};
  EdgeConfig edge;
  LimitsConfig limits;
  LogConfig log;
  std::optional<TlsConfig> tls;  ///< of the API; absent: plain HTTP

  /// What was read, in the form of the file, for `harena doctor`: it reads back as an equal configuration. Of keys it
  /// has the paths. A plugin's own configuration is shown as it was written.
  nlohmann::json to_json() const;
};

}  // namespace harena
