#pragma once
// StateStoreAdapter: a plugin's harena.state-store/1 as a StateStore.

#include <memory>

#include "core/contracts/state_store.hpp"
#include "core/pluginhost/plugin_caller.hpp"
#include "sdk/abi/state_store.h"

namespace harena {

/// Thread-safe. Checks what the core relies on: the order and bounds of a range, its limit, growing revisions.
class StateStoreAdapter final : public StateStore {
 public:
  static Result<std::unique_ptr<StateStoreAdapter>> make(std::shared_ptr<const loader::Instance> instance);

  Result<std::optional<StateEntry>> get(const CallContext& call, const std::string& key) override;
  Result<std::vector<StateEntry>> range(const CallContext& call, const std::string& start, const std::string& end,
                                        std::int64_t limit) override;
  Result<std::int64_t> txn(const CallContext& call, const std::vector<StateOp>& ops,
                           Durability durability = Durability::power_cut) override;
  Status watch(const CallContext& call, const std::string& prefix, std::int64_t after_revision,
               const std::function<bool(const std::string& key, const std::optional<std::string>& value,
                                        std::int64_t revision)>& on_change) override;

 private:
  StateStoreAdapter(PluginCaller caller, const harena_state_store& table)
      : caller_(std::move(caller)), table_(table) {}

  PluginCaller caller_;
  const harena_state_store table_;
};

}  // namespace harena
