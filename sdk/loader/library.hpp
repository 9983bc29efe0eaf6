#pragma once
// A loaded plugin and its instances.
//
//   HARENA_TRY(auto library, Library::load("/usr/lib/harena/plugins/container"));
//   HARENA_TRY(auto instance, library->create(&host, config));
//   HARENA_TRY(harena_backend backend, instance->backend());
//   backend.probe(instance->self(), call.record());
//
// A library is never unloaded, whatever is destroyed here: dlclose would leave code behind that inline statics and
// thread_locals still point to. To upgrade a plugin the process is restarted, and recovers its sandboxes.

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sdk/abi/plugin.h"
#include "sdk/loader/file_check.hpp"
#include "sdk/loader/invocation.hpp"
#include "sdk/loader/manifest.hpp"
#include "sdk/loader/tables.hpp"
#include "sdk/schema/schema.hpp"

namespace harena::loader {

class Library;

/// One instance of a plugin; destroyed with this object. Keeps its Library alive.
class Instance {
 public:
  Instance(std::shared_ptr<const Library> library, void* self) : library_(std::move(library)), self_(self) {}
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  ~Instance();

  /// The first argument of the contract's functions.
  void* self() const { return self_; }
  const Library& library() const { return *library_; }
  /// Null when the plugin doesn't have the contract.
  const void* contract(std::string_view id) const;
  /// failed_precondition when the plugin doesn't implement the contract; names those that it has.
  Result<harena_backend> backend() const;
  Result<harena_backend_container> backend_container() const;
  Result<harena_image_store> image_store() const;
  Result<harena_state_store> state_store() const;
  Result<harena_frontend> frontend() const;

 private:
  Result<const void*> wanted(std::string_view id) const;
  std::shared_ptr<const Library> library_;
  void* self_;
};

/// Immutable once made; thread-safe.
class Library : public std::enable_shared_from_this<Library> {
 public:
  /// All checks of file_check.hpp, then dlopen (RTLD_NOW | RTLD_LOCAL), then those of the descriptor, which must say
  /// the same as the manifest. `folder` holds plugin.json.
  static Result<std::shared_ptr<const Library>> load(const std::filesystem::path& folder,
                                                     OwnerPolicy policy = OwnerPolicy::root_only);
  /// Opens a library without the checks before dlopen: for the kit alone, which makes them one by one.
  static Result<std::shared_ptr<const Library>> open_unchecked(const std::filesystem::path& library);
  /// Static registration: a plugin that is linked into this program.
  static Result<std::shared_ptr<const Library>> from_descriptor(const harena_plugin_descriptor* descriptor);

  const harena_plugin_descriptor& descriptor() const { return *descriptor_; }
  const std::string& id() const { return id_; }
  const std::string& version() const { return version_; }
  const std::vector<std::string>& contracts() const { return contracts_; }
  const schema::Schema& config_schema() const { return config_schema_; }

  /// Validates `config` against the plugin's schema (unknown keys are errors), fills in defaults, makes an instance and
  /// checks the functions of its contracts. `host` must outlive the instance.
  Result<std::unique_ptr<Instance>> create(const harena_host* host, const nlohmann::json& config,
                                           CallOptions options = {}) const;

 private:
  explicit Library(schema::Schema schema) : config_schema_(std::move(schema)) {}
  Status check_against(const Manifest& manifest) const;

  const harena_plugin_descriptor* descriptor_ = nullptr;
  std::string id_, version_;
  std::vector<std::string> contracts_;
  schema::Schema config_schema_;
};

}  // namespace harena::loader
