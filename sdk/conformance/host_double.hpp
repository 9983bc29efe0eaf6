#pragma once
// A host for plugins under test: keeps what they log and the events that they send.

#include <condition_variable>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sdk/abi/types.h"

namespace harena::conformance {

/// Thread-safe.
class HostDouble {
 public:
  HostDouble() = default;
  HostDouble(const HostDouble&) = delete;
  HostDouble& operator=(const HostDouble&) = delete;

  const harena_host* host() const { return &host_; }
  /// Offered from now on; null: none again.
  void offer(std::string service_id, const void* table) {
    std::lock_guard lock(mutex_);
    services_[std::move(service_id)] = table;
  }
  std::vector<nlohmann::json> events() const {
    std::lock_guard lock(mutex_);
    return events_;
  }

 private:
  static void on_log(void*, std::int32_t, harena_str) {}
  static void on_event(void* self, harena_str text) {
    auto& me = *static_cast<HostDouble*>(self);
    std::lock_guard lock(me.mutex_);
    me.events_.push_back(nlohmann::json::parse(text.ptr, text.ptr + text.len, nullptr, false));
  }
  static const void* on_service(void* self, harena_str id) {
    auto& me = *static_cast<HostDouble*>(self);
    std::lock_guard lock(me.mutex_);
    const auto it = me.services_.find(std::string(id.ptr, id.len));
    return it == me.services_.end() ? nullptr : it->second;
  }

  harena_host host_{sizeof(harena_host), this, &on_log, &on_event, &on_service};
  mutable std::mutex mutex_;
  std::vector<nlohmann::json> events_;
  std::map<std::string, const void*> services_;
};

}  // namespace harena::conformance
