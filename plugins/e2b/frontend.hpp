#pragma once
// E2bFrontend: harena.frontend/1 with E2B's protocol.

#include <memory>
#include <mutex>

#include "plugins/e2b/settings.hpp"
#include "plugins/e2b/settings_schema.hpp"
#include "sdk/cpp/plugin.hpp"

namespace harena::e2b {

class E2bFrontend final : public plugin::FrontendPlugin {
 public:
  static constexpr plugin::Info kInfo{.licence = "Apache-2.0", .config_schema = kSettingsSchema};
  static Result<std::unique_ptr<E2bFrontend>> make(const plugin::Call& call, plugin::Host host, const plugin::json& config);
  E2bFrontend(plugin::Host host, Settings settings);
  ~E2bFrontend() override;

  Result<plugin::json> start(const plugin::Call& call) override;
  Status drain(const plugin::Call& call) override;
  Result<plugin::json> metrics(const plugin::Call& call) override;

 private:
  struct Running;
  std::shared_ptr<Running> running() const;

  const plugin::Host host_;
  const Settings settings_;
  mutable std::mutex mutex_;
  std::shared_ptr<Running> running_;  // of metrics(), which may overlap with drain()
};

}  // namespace harena::e2b
