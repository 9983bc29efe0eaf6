#pragma once
// BackendAdapter: a plugin's harena.backend/1 as a Backend.

#include <memory>
#include <mutex>

#include "core/contracts/backend.hpp"
#include "core/pluginhost/plugin_caller.hpp"
#include "sdk/abi/backend.h"
#include "sdk/abi/backend_container.h"
#include "sdk/schema/schema.hpp"

namespace harena {

/// Thread-safe. create checks its params against the backend's schema and fills in defaults, whatever the caller
/// did before.
class BackendAdapter final : public Backend {
 public:
  /// Calls describe. failed_precondition for a description that can't be used: no name, a schema that can't be
  /// compiled, a verb without its function.
  static Result<std::unique_ptr<BackendAdapter>> make(std::shared_ptr<const loader::Instance> instance);

  const BackendDescription& describe() const override { return description_; }
  Result<BackendProbe> probe(const CallContext& call) override;
  Result<BackendCreated> create(const CallContext& call, const BackendCreateRequest& request) override;
  Result<BackendRecovered> recover(const CallContext& call, const SandboxId& id, const std::string& state) override;
  Status stop(const CallContext& call, const SandboxId& id, std::int64_t grace_ms) override;
  Result<std::vector<std::string>> sweep(const CallContext& call, const std::vector<SandboxId>& known) override;
  Result<nlohmann::json> usage(const CallContext& call, const SandboxId& id) override;
  Result<nlohmann::json> pause(const CallContext& call, const SandboxId& id) override;
  Result<nlohmann::json> resume(const CallContext& call, const SandboxId& id) override;
  Result<std::vector<Result<BackendCreated>>> fork(const CallContext& call, const SandboxId& id,
                                                   const std::vector<BackendCreateRequest>& requests) override;
  Result<BackendSnapshot> snapshot(const CallContext& call, const SandboxId& id, const SandboxId& snapshot_id,
                                   const std::string& dir) override;
  Result<BackendCreated> restore(const CallContext& call, const BackendCreateRequest& request,
                                 const std::string& snapshot_state) override;
  Status rollback(const CallContext& call, const SandboxId& id, const std::string& snapshot_state) override;
  Result<BackendCreated> resize(const CallContext& call, const SandboxId& id, const BackendResizeRequest& request) override;

 private:
  BackendAdapter(PluginCaller caller, const harena_backend& table) : caller_(std::move(caller)), table_(table) {}
  Status read_description();
  Result<BackendCreated> read_created(const char* verb, const nlohmann::json& document) const;
  Result<nlohmann::json> request_of(const BackendCreateRequest& request) const;
  /// A function of (self, call, sandbox id).
  using IdFunction = harena_status (*)(void*, const harena_call*, harena_str);
  Result<nlohmann::json> optional_verb(const CallContext& call, const char* verb, IdFunction function,
                                       const SandboxId& id);

  PluginCaller caller_;
  const harena_backend table_;
  std::optional<harena_backend_container> container_;
  BackendDescription description_;
  std::optional<schema::Schema> params_schema_;
  std::mutex control_;  // [control]: one call at a time for an instance
};

}  // namespace harena
