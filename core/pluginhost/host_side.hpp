#pragma once
// HostSide: what one plugin instance is offered, as the C struct that it gets.

#include <memory>
#include <mutex>
#include <string>

#include "core/pluginhost/plugin_host.hpp"
#include "sdk/abi/types.h"

namespace harena {

/// Must outlive the instance and stay where it is. Its functions are called from any thread and never throw.
class HostSide {
 public:
  HostSide(std::string plugin, std::shared_ptr<const HostServices> services);
  HostSide(const HostSide&) = delete;
  HostSide& operator=(const HostSide&) = delete;

  const harena_host* record() const { return &record_; }
  /// The name under which events are passed on; until it is set the plugin's.
  void set_backend(std::string name);

 private:
  static void on_log(void* self, std::int32_t level, harena_str message) noexcept;
  static void on_event(void* self, harena_str text) noexcept;
  static const void* on_service(void* self, harena_str id) noexcept;
  void log(PluginLogLevel level, const std::string& message) const;
  void pass_on(std::string_view text) const;
  std::string backend() const;

  const std::string plugin_;
  const std::shared_ptr<const HostServices> services_;
  mutable std::mutex mutex_;
  std::string backend_;
  harena_host record_{};
};

}  // namespace harena
