#pragma once
// FakeFrontend: the smallest frontend: what it is asked it asks of the API, word for word. Test double, and the reference for
// authors.

#include <atomic>
#include <memory>
#include <mutex>

#include "sdk/cpp/plugin.hpp"

namespace harena::fake {

class FakeFrontend final : public plugin::FrontendPlugin {
 public:
  static constexpr plugin::Info kInfo{
      .licence = "Apache-2.0",
      .config_schema = R"({"type": "object", "additionalProperties": false, "properties": {
        "address": {"type": "string", "default": "127.0.0.1"},
        "port": {"type": "integer", "minimum": 0, "maximum": 65535, "default": 0}}})"};
  static Result<std::unique_ptr<FakeFrontend>> make(const plugin::Call& call, plugin::Host host, const plugin::json& config);
  FakeFrontend(plugin::Host host, std::string address, std::uint16_t port);
  ~FakeFrontend() override;

  Result<plugin::json> start(const plugin::Call& call) override;
  Status drain(const plugin::Call& call) override;
  /// harena_fake_frontend_requests_total.
  Result<plugin::json> metrics(const plugin::Call& call) override;

 private:
  struct Running;
  const plugin::Host host_;
  const std::string address_;
  const std::uint16_t port_;
  std::atomic<std::uint64_t> requests_{0};
  std::unique_ptr<Running> running_;
};

}  // namespace harena::fake
