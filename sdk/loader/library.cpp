#include "sdk/loader/library.hpp"

#include <dlfcn.h>

#define BOOST_DLL_USE_STD_FS
#include <algorithm>
#include <boost/dll/shared_library.hpp>

namespace harena::loader {
namespace {

Error refused(std::string message) { return make_error(ErrorCode::invalid_argument, std::move(message)); }

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

// dlopen by way of Boost.DLL; the handle's reference is pinned, so that no dlclose ever unloads it.
Result<harena_plugin_entry_fn> open_entry(const std::filesystem::path& library) {
  using boost::dll::load_mode::type;
  std::error_code failed;
  ::dlerror();  // forget an older error
  boost::dll::shared_library loaded;
  loaded.load(library, type(boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local), failed);
  if (failed || !loaded.is_loaded()) {
    const char* why = ::dlerror();
    return make_error(ErrorCode::failed_precondition, "loading " + library.string() + ": " + (why != nullptr ? why : failed.message()));
  }
  if (!loaded.has(std::string(kEntrySymbol))) {
    return refused(library.string() + " doesn't export " + std::string(kEntrySymbol) + ": it is no Harena plugin");
  }
  auto* entry = &loaded.get<const harena_plugin_descriptor*(void)>(std::string(kEntrySymbol));
  if (void* pinned = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD | RTLD_NODELETE)) ::dlclose(pinned);
  return harena_plugin_entry_fn(entry);
}

Status check_functions(const harena_plugin_descriptor& d) {
  const std::pair<const char*, bool> functions[] = {
      {"create", d.create != nullptr}, {"destroy", d.destroy != nullptr}, {"get_contract", d.get_contract != nullptr}};
  for (const auto& [name, there] : functions) {
    if (!there) return refused(std::string("the plugin's descriptor lacks the function '") + name + "'");
  }
  return ok_status();
}

Status check_descriptor(const harena_plugin_descriptor* d) {
  if (d == nullptr) return refused("harena_plugin_entry returned null; a descriptor is right");
  // struct_size and the version come first in every version of the ABI.
  std::string id = d->struct_size >= sizeof(harena_plugin_descriptor) ? std::string(to_view(d->id)) : "unknown";
  HARENA_TRY_STATUS(check_abi(id, std::to_string(d->abi_major) + "." + std::to_string(d->abi_minor)));
  if (d->struct_size < sizeof(harena_plugin_descriptor)) {
    return refused("the plugin's descriptor has struct_size " + std::to_string(d->struct_size) + "; at least " +
                   std::to_string(sizeof(harena_plugin_descriptor)) + " is right");
  }
  if (id.empty() || to_view(d->version).empty()) return refused("the plugin's descriptor has no id or no version");
  if (d->contract_count == 0 || d->contracts == nullptr) return refused("plugin '" + id + "' lists no contract");
  return check_functions(*d);
}

// Unknown keys of a configuration are errors, which the schema must therefore say.
Status check_config_schema(const schema::Schema& schema) {
  const auto& document = schema.document();
  if (document.is_object() && document.value("additionalProperties", nlohmann::json(true)) == false) return ok_status();
  return refused("its configuration schema must say \"additionalProperties\": false at the top");
}

}  // namespace

Result<std::shared_ptr<const Library>> Library::from_descriptor(const harena_plugin_descriptor* d) {
  HARENA_TRY_STATUS(check_descriptor(d));
  const std::string where = "loading plugin '" + std::string(to_view(d->id)) + "'";
  auto schema = schema::Schema::parse(to_view(d->config_schema));
  if (!schema.ok()) return std::move(schema.error()).during(where + ", its configuration schema");
  if (auto closed = check_config_schema(*schema); !closed.ok()) return std::move(closed.error()).during(where);
  std::shared_ptr<Library> library(new Library(*std::move(schema)));
  library->descriptor_ = d;
  library->id_ = to_view(d->id);
  library->version_ = to_view(d->version);
  for (std::uint64_t i = 0; i < d->contract_count; ++i) library->contracts_.emplace_back(to_view(d->contracts[i]));
  return std::shared_ptr<const Library>(std::move(library));
}

Result<std::shared_ptr<const Library>> Library::open_unchecked(const std::filesystem::path& path) {
  HARENA_TRY(auto entry, open_entry(path));
  return from_descriptor(entry());
}

Result<std::shared_ptr<const Library>> Library::load(const std::filesystem::path& folder, OwnerPolicy policy) {
  HARENA_TRY(Manifest manifest, check_files(folder, policy));
  HARENA_TRY(auto library, open_unchecked(folder / manifest.library));
  HARENA_TRY_STATUS(library->check_against(manifest));
  return library;
}

Status Library::check_against(const Manifest& manifest) const {
  auto differs = [](const std::string& what, const std::string& ours, const std::string& theirs) {
    return refused("plugin.json says " + what + " " + theirs + ", the plugin itself " + ours + ": they must be equal");
  };
  if (id_ != manifest.id) return differs("id", id_, manifest.id);
  if (version_ != manifest.version) return differs("version", version_, manifest.version);
  auto sorted = [](std::vector<std::string> names) { return std::ranges::sort(names), names; };
  if (sorted(contracts_) != sorted(manifest.contracts)) return differs("contracts", listed(contracts_), listed(manifest.contracts));
  return ok_status();
}

Result<std::unique_ptr<Instance>> Library::create(const harena_host* host, const nlohmann::json& config,
                                                  CallOptions options) const {
  auto complete = config_schema_.apply(config.is_null() ? nlohmann::json::object() : config, "config");
  if (!complete.ok()) return std::move(complete.error()).during("configuring plugin '" + id_ + "'");
  const std::string text = complete->dump();
  Invocation call(std::move(options));
  void* self = nullptr;
  auto outcome = call.finish(descriptor_->create(call.record(), host, to_abi(text), &self));
  if (!outcome.ok()) return std::move(outcome.error()).during("starting plugin '" + id_ + "'");
  auto instance = std::make_unique<Instance>(shared_from_this(), self);
  for (const auto& contract : contracts_) {
    if (auto good = check_table(contract, instance->contract(contract)); !good.ok()) {
      return std::move(good.error()).during("starting plugin '" + id_ + "'");
    }
  }
  return instance;
}

Instance::~Instance() { library_->descriptor().destroy(self_); }

const void* Instance::contract(std::string_view id) const {
  return library_->descriptor().get_contract(self_, to_abi(id));
}

Result<const void*> Instance::wanted(std::string_view id) const {
  if (std::ranges::find(library_->contracts(), id) != library_->contracts().end()) return contract(id);
  return make_error(ErrorCode::failed_precondition, "plugin '" + library_->id() + "' implements " + listed(library_->contracts()) +
                                                        "; " + std::string(id) + " is needed here");
}

Result<harena_backend> Instance::backend() const {
  HARENA_TRY(const void* table, wanted(HARENA_BACKEND_CONTRACT));
  return read_backend(table);
}
Result<harena_backend_container> Instance::backend_container() const {
  HARENA_TRY(const void* table, wanted(HARENA_BACKEND_CONTAINER_CONTRACT));
  return read_backend_container(table);
}
Result<harena_image_store> Instance::image_store() const {
  HARENA_TRY(const void* table, wanted(HARENA_IMAGE_STORE_CONTRACT));
  return read_image_store(table);
}
Result<harena_state_store> Instance::state_store() const {
  HARENA_TRY(const void* table, wanted(HARENA_STATE_STORE_CONTRACT));
  return read_state_store(table);
}
Result<harena_frontend> Instance::frontend() const {
  HARENA_TRY(const void* table, wanted(HARENA_FRONTEND_CONTRACT));
  return read_frontend(table);
}

}  // namespace harena::loader
