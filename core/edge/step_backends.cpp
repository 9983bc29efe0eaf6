#include "core/edge/edge_role.hpp"
#include "sdk/schema/schema.hpp"

namespace harena {
namespace {

Result<BackendEntry> entry_of(const LoadedBackend& loaded) {
  const auto& description = loaded.backend->describe();
  HARENA_TRY(auto schema, schema::Schema::compile(description.params_schema));
  BackendEntry entry{.backend = loaded.backend,
                     .plugin_id = loaded.plugin_id,
                     .plugin_version = loaded.plugin_version};
  entry.check_params = [schema = std::move(schema)](const nlohmann::json& params) {
    return schema.apply(params, "params");
  };
  return entry;
}

}  // namespace

Step EdgeRole::backends_step() {
  return {"backends",
          [this]() -> Status {
            for (const auto& loaded : plugins_->backends()) {
              auto entry = entry_of(loaded);
              if (!entry.ok()) return std::move(entry).error().during("the schema of plugin " + loaded.plugin_id);
              HARENA_TRY_STATUS(registry_.add(*std::move(entry)));
            }
            probe_backends();
            return ok_status();
          },
          [this] { registry_ = BackendRegistry(); }};
}

}  // namespace harena
