#pragma once
// What the plugin counts, for the host's metrics.

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace harena::mcp {

/// Thread-safe.
class Counters {
 public:
  /// A call of a tool, by its name and "ok", "failed" or the code of the error.
  void tool(const std::string& name, const std::string& outcome) {
    std::lock_guard lock(mutex_);
    ++tools_[{name, outcome}];
  }
  /// As harena.frontend/1 wants them.
  nlohmann::json metrics() const {
    std::lock_guard lock(mutex_);
    nlohmann::json series = nlohmann::json::array();
    for (const auto& [key, value] : tools_) {
      series.push_back({{"labels", {{"tool", key.first}, {"outcome", key.second}}}, {"value", value}});
    }
    nlohmann::json one = {{"name", "harena_mcp_tools_total"}, {"help", "Calls of tools."}, {"type", "counter"}};
    one["series"] = std::move(series);
    return {{"metrics", nlohmann::json::array({std::move(one)})}};
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> tools_;
};

}  // namespace harena::mcp
