#include "core/config/config.hpp"

namespace harena {

using nlohmann::json;

json Config::to_json() const {
  json api_json{{"listen", api.str()}};
  if (tls) api_json["tls"] = {{"cert", tls->cert}, {"key", tls->key}};
  json plugin_json = json::object();
  for (const auto& [name, plugin] : plugins) {
    plugin_json[name] = {{"enabled", plugin.enabled}, {"config", plugin.config}};
  }
  return {{"api", std::move(api_json)},
          {"health", {{"listen", health.str()}}},
          {"state_dir", state_dir},
          {"run_dir", run_dir},
          {"plugin_dirs", plugin_dirs},
          {"plugins", std::move(plugin_json)},
          {"edge",
           {{"code", edge.code},
            {"cpu_overcommit", edge.cpu_overcommit},
            {"memory_fraction", edge.memory_fraction},
            {"max_sandboxes", edge.max_sandboxes}}},
          {"limits",
           {{"max_body_bytes", limits.max_body_bytes},
            {"max_connections", limits.max_connections},
            {"drain_s", limits.drain_s},
            {"io_threads", limits.io_threads},
            {"worker_threads", limits.worker_threads}}},
          {"log", {{"level", log.level}, {"format", log.format}}}};
}

}  // namespace harena
