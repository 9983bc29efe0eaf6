#pragma once
// FrontendAdapter: a plugin's harena.frontend/1 as a Frontend.

#include <memory>
#include <mutex>
#include <string>

#include "core/contracts/frontend.hpp"
#include "core/pluginhost/plugin_caller.hpp"
#include "sdk/abi/frontend.h"

namespace harena {

/// Thread-safe. Checks what the core relies on: the addresses, and the names, types and labels of metrics.
class FrontendAdapter final : public Frontend {
 public:
  /// `name`: the plugin's short name, with which the names of its metrics must begin.
  static Result<std::unique_ptr<FrontendAdapter>> make(std::shared_ptr<const loader::Instance> instance, std::string name);

  Result<std::vector<std::string>> start(const CallContext& call) override;
  Status drain(const CallContext& call) override;
  Result<std::vector<FrontendSample>> metrics(const CallContext& call) override;

 private:
  FrontendAdapter(PluginCaller caller, const harena_frontend& table, std::string prefix)
      : caller_(std::move(caller)), table_(table), prefix_(std::move(prefix)) {}

  PluginCaller caller_;
  const harena_frontend table_;
  const std::string prefix_;  ///< "harena_e2b_"
  std::mutex control_;        ///< [control]: one call at a time for an instance
};

}  // namespace harena
