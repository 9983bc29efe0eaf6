#pragma once
// PluginHost: the plugins that the configuration enables, loaded, made and seen as the core's contracts.
//
//   HARENA_TRY(auto host, PluginHost::load(options));
//   HARENA_TRY(StateStore* store, host->state_store());
//   for (const auto& loaded : host->backends()) loaded.backend->describe();
//
// The surprising rule: plugins are never unloaded. Destroying the host destroys the instances (their threads end),
// the libraries stay mapped.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/contracts/backend.hpp"
#include "core/contracts/frontend.hpp"
#include "core/contracts/image_store.hpp"
#include "core/contracts/state_store.hpp"
#include "sdk/base/result.hpp"

struct harena_plugin_descriptor;

namespace harena {

enum class PluginLogLevel { debug, info, warning, error };

/// What plugins are offered. The functions are called from any thread, also during load, and must not block.
struct HostServices {
  std::function<void(const std::string& plugin, PluginLogLevel level, const std::string& message)> log;
  /// Events of backends; `probe_changed` among them. A document that isn't a JSON object with a "type" is logged
  /// and dropped.
  std::function<void(const BackendEvent& event)> event;
  /// Further services by id ("harena.host.api/1"); the pointers outlive the host.
  std::map<std::string, const void*> services;
  /// The same for those that know which plugin asks, by its id; null: not offered.
  std::function<const void*(const std::string& plugin, const std::string& id)> service;
};

/// One plugin to load.
struct PluginChoice {
  std::string name;  ///< short name ("container") or id ("dev.harena.container")
  nlohmann::json config = nlohmann::json::object();
};

struct PluginHostOptions {
  std::vector<std::string> plugin_dirs;  ///< searched in this order
  std::vector<PluginChoice> plugins;     ///< loaded in this order
  /// Linked in instead of loaded, found before the folders: for unit tests, fuzzers and sanitizer builds.
  std::map<std::string, const harena_plugin_descriptor*> static_plugins;
  HostServices services;
  /// Who may own plugin files, beside root. Production: nobody; tests run as others.
  bool trust_current_user = false;
};

/// A line of GET /v1/plugins.
struct PluginListing {
  std::string name;     ///< as it was enabled
  std::string id;
  std::string version;
  std::string licence;
  std::string path;     ///< empty: linked in
  std::vector<std::string> contracts;
};

struct LoadedBackend {
  std::string plugin_id;
  std::string plugin_version;
  Backend* backend;  ///< lives as long as the host
};

struct LoadedFrontend {
  std::string name;     ///< as it was enabled
  Frontend* frontend;   ///< lives as long as the host
};

/// Thread-safe after load.
class PluginHost {
 public:
  /// Errors name the plugin: not_found lists what the folders have; failed_precondition for another ABI (both
  /// versions), a missing required function (its name), two plugins that give one backend; invalid_argument for a
  /// configuration that its schema refuses. Nothing stays loaded half: instances that were made are destroyed.
  static Result<std::unique_ptr<PluginHost>> load(const PluginHostOptions& options);
  ~PluginHost();
  PluginHost(const PluginHost&) = delete;
  PluginHost& operator=(const PluginHost&) = delete;

  const std::vector<LoadedBackend>& backends() const;
  /// not_found lists the backends there are, with the nearest name.
  Result<Backend*> backend(const std::string& name) const;
  /// The one that was enabled; failed_precondition when none or several were.
  Result<ImageStore*> image_store() const;
  Result<StateStore*> state_store() const;
  const std::vector<PluginListing>& plugins() const;
  /// In the order of loading.
  std::vector<LoadedFrontend> frontends() const;

 private:
  struct State;
  explicit PluginHost(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

nlohmann::json to_json(const PluginListing& listing);

}  // namespace harena
