#include "core/pluginhost/plugin_host.hpp"

#include <algorithm>

#include "core/pluginhost/backend_adapter.hpp"
#include "core/pluginhost/frontend_adapter.hpp"
#include "core/pluginhost/host_side.hpp"
#include "core/pluginhost/image_store_adapter.hpp"
#include "core/pluginhost/plugin_finder.hpp"
#include "core/pluginhost/state_store_adapter.hpp"
#include "sdk/base/text.hpp"
#include "sdk/loader/library.hpp"

namespace harena {

namespace {

/// One plugin. The order of the members is the order of making; the instance ends before what it was offered.
struct Loaded {
  PluginListing listing;
  std::unique_ptr<HostSide> host_side;
  std::shared_ptr<const loader::Instance> instance;
  std::unique_ptr<BackendAdapter> backend;
  std::unique_ptr<ImageStoreAdapter> image_store;
  std::unique_ptr<StateStoreAdapter> state_store;
  std::unique_ptr<FrontendAdapter> frontend;
};

struct Found {
  std::shared_ptr<const loader::Library> library;
  std::string path;
};

Result<Found> find_static(const PluginHostOptions& options, const std::string& name) {
  for (const auto& [key, descriptor] : options.static_plugins) {
    HARENA_TRY(auto library, loader::Library::from_descriptor(descriptor));
    if (key == name || library->id() == name) return Found{std::move(library), ""};
  }
  return Found{};
}

Result<Found> find_library(const PluginHostOptions& options, const std::string& name) {
  HARENA_TRY(auto linked, find_static(options, name));
  if (linked.library) return linked;
  const auto policy = options.trust_current_user ? loader::OwnerPolicy::root_or_self : loader::OwnerPolicy::root_only;
  HARENA_TRY(const auto folder, find_plugin(options.plugin_dirs, name, policy));
  HARENA_TRY(auto library, loader::Library::load(folder, policy));
  return Found{std::move(library), folder.string()};
}

bool has(const Loaded& plugin, std::string_view contract) {
  const auto& contracts = plugin.listing.contracts;
  return std::find(contracts.begin(), contracts.end(), contract) != contracts.end();
}

/// Contracts that this host doesn't know are no error: a later one does.
Status make_adapters(Loaded& plugin) {
  if (has(plugin, HARENA_BACKEND_CONTRACT)) {
    HARENA_TRY(plugin.backend, BackendAdapter::make(plugin.instance));
    plugin.host_side->set_backend(plugin.backend->describe().name);
  }
  if (has(plugin, HARENA_IMAGE_STORE_CONTRACT)) {
    HARENA_TRY(plugin.image_store, ImageStoreAdapter::make(plugin.instance));
  }
  if (has(plugin, HARENA_STATE_STORE_CONTRACT)) {
    HARENA_TRY(plugin.state_store, StateStoreAdapter::make(plugin.instance));
  }
  if (has(plugin, HARENA_FRONTEND_CONTRACT)) {
    HARENA_TRY(plugin.frontend, FrontendAdapter::make(plugin.instance, plugin.listing.name));
  }
  return ok_status();
}

Result<Loaded> load_one(const PluginHostOptions& options, const PluginChoice& choice,
                        const std::shared_ptr<const HostServices>& services) {
  HARENA_TRY(auto found, find_library(options, choice.name));
  const auto& library = *found.library;
  Loaded plugin;
  plugin.listing = {choice.name, library.id(), library.version(),
                    std::string(loader::to_view(library.descriptor().licence)), found.path, library.contracts()};
  plugin.host_side = std::make_unique<HostSide>(library.id(), services);
  HARENA_TRY(plugin.instance, library.create(plugin.host_side->record(), choice.config));
  HARENA_TRY_STATUS(make_adapters(plugin));
  return plugin;
}

/// The one adapter that `get` finds; failed_precondition says what to configure when there are none or several.
template <class Adapter>
Result<Adapter*> the_only(const std::vector<Loaded>& plugins, std::unique_ptr<Adapter> Loaded::*member,
                          const std::string& what) {
  std::vector<std::string> names;
  Adapter* found = nullptr;
  for (const auto& plugin : plugins) {
    if (!(plugin.*member)) continue;
    names.push_back(plugin.listing.name);
    found = (plugin.*member).get();
  }
  if (names.size() == 1) return found;
  std::string listed;
  for (const auto& name : names) listed += (listed.empty() ? "" : ", ") + name;
  return make_error(ErrorCode::failed_precondition,
                    names.empty() ? "no " + what + " is enabled; enable one under 'plugins' in the configuration"
                                  : "several of a " + what + " are enabled: " + listed +
                                        "; set \"enabled\": false for all but one");
}

}  // namespace

struct PluginHost::State {
  std::vector<Loaded> plugins;
  std::vector<LoadedBackend> backends;
  std::vector<PluginListing> listings;

  ~State() {
    while (!plugins.empty()) plugins.pop_back();  // in the reverse order of making
  }
  Status check_new(const Loaded& plugin) const;
  void add(Loaded plugin);
};

Status PluginHost::State::check_new(const Loaded& plugin) const {
  for (const auto& other : plugins) {
    if (other.listing.id == plugin.listing.id) {
      return make_error(ErrorCode::failed_precondition, "plugin '" + plugin.listing.id + "' is enabled twice, as '" +
                                                            other.listing.name + "' and '" + plugin.listing.name + "'");
    }
    if (!plugin.backend || !other.backend) continue;
    const auto& name = plugin.backend->describe().name;
    if (name != other.backend->describe().name) continue;
    return make_error(ErrorCode::failed_precondition, "plugins '" + other.listing.id + "' and '" + plugin.listing.id +
                                                          "' both bring a backend '" + name + "'; enable one of them");
  }
  return ok_status();
}

void PluginHost::State::add(Loaded plugin) {
  if (plugin.backend) {
    backends.push_back({plugin.listing.id, plugin.listing.version, plugin.backend.get()});
  }
  listings.push_back(plugin.listing);
  plugins.push_back(std::move(plugin));
}

PluginHost::PluginHost(std::unique_ptr<State> state) : state_(std::move(state)) {}
PluginHost::~PluginHost() = default;

Result<std::unique_ptr<PluginHost>> PluginHost::load(const PluginHostOptions& options) {
  auto state = std::make_unique<State>();
  const auto services = std::make_shared<const HostServices>(options.services);
  for (const auto& choice : options.plugins) {
    auto plugin = load_one(options, choice, services);
    if (!plugin) return std::move(plugin).error().during("loading plugin '" + choice.name + "'");
    HARENA_TRY_STATUS(state->check_new(*plugin));
    state->add(std::move(*plugin));
  }
  return std::unique_ptr<PluginHost>(new PluginHost(std::move(state)));
}

const std::vector<LoadedBackend>& PluginHost::backends() const { return state_->backends; }
const std::vector<PluginListing>& PluginHost::plugins() const { return state_->listings; }

std::vector<LoadedFrontend> PluginHost::frontends() const {
  std::vector<LoadedFrontend> found;
  for (const auto& plugin : state_->plugins) {
    if (plugin.frontend) found.push_back({plugin.listing.name, plugin.frontend.get()});
  }
  return found;
}

Result<Backend*> PluginHost::backend(const std::string& name) const {
  std::vector<std::string> names;
  for (const auto& loaded : state_->backends) {
    names.push_back(loaded.backend->describe().name);
    if (names.back() == name) return loaded.backend;
  }
  return make_error(ErrorCode::not_found,
                    "there is no backend '" + name.substr(0, 80) + "'" +
                        (names.empty() ? "; no plugin with a backend is enabled" : suggestion(name, names)));
}

Result<ImageStore*> PluginHost::image_store() const {
  HARENA_TRY(auto* store, the_only(state_->plugins, &Loaded::image_store, "image store"));
  return static_cast<ImageStore*>(store);
}

Result<StateStore*> PluginHost::state_store() const {
  HARENA_TRY(auto* store, the_only(state_->plugins, &Loaded::state_store, "state store"));
  return static_cast<StateStore*>(store);
}

nlohmann::json to_json(const PluginListing& listing) {
  return {{"name", listing.name},       {"id", listing.id},     {"version", listing.version},
          {"licence", listing.licence}, {"path", listing.path}, {"contracts", listing.contracts}};
}

}  // namespace harena
