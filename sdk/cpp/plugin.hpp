#pragma once
// HARENA_PLUGIN: makes a class into a plugin.
//
//   class Mine final : public harena::plugin::BackendPlugin {
//    public:
//     static constexpr harena::plugin::Info kInfo{
//         .licence = "Apache-2.0",
//         .config_schema = R"({"type":"object","additionalProperties":false,"properties":{}})"};
//     static Result<std::unique_ptr<Mine>> make(const Call& call, Host host, const json& config);
//     ...
//   };
//   HARENA_PLUGIN(Mine)   // once, in a .cpp
//
// The contracts follow from the base classes. `make` gets a configuration that the host has validated against
// config_schema with its defaults filled in; no thread and no descriptor may exist before it. Id and version come
// from harena_add_plugin() in CMake. Exceptions are caught at the boundary; Results are the normal way.

#include <memory>
#include <new>
#include <string_view>
#include <type_traits>

#include "sdk/abi/plugin.h"
#include "sdk/cpp/backend.hpp"
#include "sdk/cpp/backend_container.hpp"
#include "sdk/cpp/frontend.hpp"
#include "sdk/cpp/image_store.hpp"
#include "sdk/cpp/state_store.hpp"

// harena_add_plugin() defines these; the fallbacks let an editor parse a lone file.
#ifndef HARENA_PLUGIN_ID
#define HARENA_PLUGIN_ID "dev.example.unnamed"
#define HARENA_PLUGIN_VERSION "0.0.0"
#endif
#ifndef HARENA_PLUGIN_ENTRY
#define HARENA_PLUGIN_ENTRY harena_plugin_entry
#endif

namespace harena::plugin {

/// What the descriptor says beside what CMake and the base classes know.
struct Info {
  std::string_view licence;        // SPDX
  std::string_view config_schema;  // JSON Schema, additionalProperties false at the top
};

namespace detail {

template <class Plugin>
struct Instance {
  std::unique_ptr<Plugin> plugin;
  BackendPlugin* backend = nullptr;
  ImageStorePlugin* image_store = nullptr;
  StateStorePlugin* state_store = nullptr;
  FrontendPlugin* frontend = nullptr;
  ContainerVerbs* container = nullptr;
  harena_backend backend_table{};
  harena_image_store image_store_table{};
  harena_state_store state_store_table{};
  harena_frontend frontend_table{};
  harena_backend_container container_table{};

  explicit Instance(std::unique_ptr<Plugin> made) : plugin(std::move(made)) {
    if constexpr (std::is_base_of_v<BackendPlugin, Plugin>) {
      backend = plugin.get();
      backend_table = make_backend_table<Plugin, Instance>(*backend);
    }
    if constexpr (std::is_base_of_v<ImageStorePlugin, Plugin>) {
      image_store = plugin.get();
      image_store_table = make_image_store_table<Instance>();
    }
    if constexpr (std::is_base_of_v<StateStorePlugin, Plugin>) {
      state_store = plugin.get();
      state_store_table = make_state_store_table<Instance>();
    }
    if constexpr (std::is_base_of_v<FrontendPlugin, Plugin>) {
      frontend = plugin.get();
      frontend_table = make_frontend_table<Instance>();
    }
    if constexpr (std::is_base_of_v<ContainerVerbs, Plugin>) {
      container = plugin.get();
      container_table = make_container_table<Instance>();
    }
  }
};

template <class Plugin>
struct Descriptor {
  static harena_status create(const harena_call* raw, const harena_host* host, harena_str config, void** out) {
    return guarded(raw, [&](const Call& call) -> Status {
      HARENA_TRY(json document, parse_input(config.len == 0 ? to_abi("{}") : config, "the plugin's configuration"));
      HARENA_TRY(std::unique_ptr<Plugin> plugin, Plugin::make(call, Host(host), document));
      *out = new Instance<Plugin>(std::move(plugin));
      return ok_status();
    });
  }
  static void destroy(void* instance) { delete static_cast<Instance<Plugin>*>(instance); }

  static const void* get_contract(void* raw, harena_str id) {
    auto* instance = static_cast<Instance<Plugin>*>(raw);
    if (instance == nullptr) return nullptr;
    if (instance->backend != nullptr && to_view(id) == BackendPlugin::kContract) return &instance->backend_table;
    if (instance->image_store != nullptr && to_view(id) == ImageStorePlugin::kContract) {
      return &instance->image_store_table;
    }
    if (instance->state_store != nullptr && to_view(id) == StateStorePlugin::kContract) {
      return &instance->state_store_table;
    }
    if (instance->frontend != nullptr && to_view(id) == FrontendPlugin::kContract) return &instance->frontend_table;
    if (instance->container != nullptr && to_view(id) == ContainerVerbs::kContract) return &instance->container_table;
    return nullptr;
  }

  static constexpr std::size_t kContractCount = std::size_t{std::is_base_of_v<BackendPlugin, Plugin>} +
                                                std::size_t{std::is_base_of_v<ImageStorePlugin, Plugin>} +
                                                std::size_t{std::is_base_of_v<StateStorePlugin, Plugin>} +
                                                std::size_t{std::is_base_of_v<FrontendPlugin, Plugin>} +
                                                std::size_t{std::is_base_of_v<ContainerVerbs, Plugin>};
  static_assert(!std::is_base_of_v<ContainerVerbs, Plugin> || std::is_base_of_v<BackendPlugin, Plugin>,
                "ContainerVerbs are for a class that derives from BackendPlugin too");
  static_assert(kContractCount > 0,
                "a plugin derives from BackendPlugin, ImageStorePlugin, StateStorePlugin or FrontendPlugin");

  struct Contracts {
    harena_str ids[kContractCount]{};
    constexpr Contracts() {
      std::size_t n = 0;
      if constexpr (std::is_base_of_v<BackendPlugin, Plugin>) ids[n++] = to_abi(BackendPlugin::kContract);
      if constexpr (std::is_base_of_v<ImageStorePlugin, Plugin>) ids[n++] = to_abi(ImageStorePlugin::kContract);
      if constexpr (std::is_base_of_v<StateStorePlugin, Plugin>) ids[n++] = to_abi(StateStorePlugin::kContract);
      if constexpr (std::is_base_of_v<FrontendPlugin, Plugin>) ids[n++] = to_abi(FrontendPlugin::kContract);
      if constexpr (std::is_base_of_v<ContainerVerbs, Plugin>) ids[n++] = to_abi(ContainerVerbs::kContract);
    }
  };
  static constexpr Contracts kContracts{};
  static constexpr harena_plugin_descriptor kDescriptor{
      sizeof(harena_plugin_descriptor),
      HARENA_ABI_MAJOR,
      HARENA_ABI_MINOR,
      to_abi(HARENA_PLUGIN_ID),
      to_abi(HARENA_PLUGIN_VERSION),
      to_abi(Plugin::kInfo.licence),
      kContracts.ids,
      kContractCount,
      to_abi(Plugin::kInfo.config_schema),
      &Descriptor::create,
      &Descriptor::destroy,
      &Descriptor::get_contract,
  };
};

}  // namespace detail
}  // namespace harena::plugin

#define HARENA_PLUGIN(Plugin)                                                               \
  extern "C" __attribute__((visibility("default"))) const harena_plugin_descriptor*         \
  HARENA_PLUGIN_ENTRY() {                                                                   \
    return &::harena::plugin::detail::Descriptor<Plugin>::kDescriptor;                      \
  }
