#pragma once
// McpFrontend: harena.frontend/1 with the Model Context Protocol.

#include <memory>
#include <mutex>

#include "plugins/mcp/settings.hpp"
#include "plugins/mcp/settings_schema.hpp"
#include "sdk/cpp/plugin.hpp"

namespace harena::mcp {

class McpFrontend final : public plugin::FrontendPlugin {
 public:
  static constexpr plugin::Info kInfo{.licence = "Apache-2.0", .config_schema = kSettingsSchema};
  static Result<std::unique_ptr<McpFrontend>> make(const plugin::Call& call, plugin::Host host, const plugin::json& config);
  McpFrontend(plugin::Host host, Settings settings);
  ~McpFrontend() override;

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

}  // namespace harena::mcp
