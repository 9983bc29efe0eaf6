#include "core/edge/edge_role.hpp"
#include "core/store/meta_repository.hpp"

namespace harena {
namespace {

const char* level_name(PluginLogLevel level) {
  switch (level) {
    case PluginLogLevel::debug: return "debug";
    case PluginLogLevel::info: return "info";
    case PluginLogLevel::warning: return "warning";
    case PluginLogLevel::error: return "error";
  }
  return "info";
}

/// What a plugin gets when the operator set nothing: its place below the state and run folders.
nlohmann::json with_places(const Config& config, const std::string& name, nlohmann::json own) {
  const auto fill = [&](const char* key, const std::string& value) {
    if (!own.contains(key)) own[key] = value;
  };
  if (name == "statestore-sqlite") fill("path", config.state_dir + "/state.db");
  if (name == "imagestore-local") fill("root", config.state_dir + "/images");
  return own;
}

PluginHostOptions options_of(const Config& config) {
  PluginHostOptions options;
  options.plugin_dirs = config.plugin_dirs;
  for (const auto& [name, plugin] : config.plugins) {
    if (plugin.enabled) options.plugins.push_back({name, with_places(config, name, plugin.config)});
  }
  return options;
}

/// An exit that a backend reports; nothing for other events.
struct Exit {
  SandboxId id;
  Ending ending;
};
std::optional<Exit> exit_of(const nlohmann::json& event) {
  if (event.value("type", "") != "sandbox_exited") return std::nullopt;
  auto id = SandboxId::parse(event.value("sandbox_id", ""));
  if (!id.ok()) return std::nullopt;
  const auto cause = cause_from_string(event.value("cause", "infrastructure")).value_or(Cause::infrastructure);
  return Exit{*std::move(id), {cause, event.value("detail", ""), event.value("message", "it ended by itself")}};
}

}  // namespace

Step EdgeRole::plugins_step() {
  return {"plugins",
          [this]() -> Status {
            workers_ = std::make_unique<boost::asio::thread_pool>(
                static_cast<std::size_t>(parts_.config.limits.worker_threads));
            auto options = options_of(parts_.config);
            options.services.log = [notice = parts_.notice](const std::string& plugin, PluginLogLevel level,
                                                            const std::string& message) {
              notice(level_name(level), plugin + ": " + message);
            };
            options.services.event = [this](const BackendEvent& event) {
              auto exit = exit_of(event.document);
              if (!exit || !manager_) return;
              boost::asio::post(*workers_, [this, exit = *std::move(exit)] { manager_->on_exit(exit.id, exit.ending); });
            };
            options.services.service = parts_.service;
            HARENA_TRY(plugins_, PluginHost::load(options));
            HARENA_TRY(store_, plugins_->state_store());
            MetaRepository meta(*store_);
            HARENA_TRY_STATUS(meta.check_schema({}));
            HARENA_TRY(code_, meta.edge_code({}, parts_.config.edge.code, parts_.random));
            return ok_status();
          },
          [this] {
            // Work that plugins still have under way ends before they go.
            workers_->join();
            plugins_.reset();
            workers_.reset();
          }};
}

}  // namespace harena
