#pragma once
// What the plugin counts, for the host's metrics.

#include <map>
#include <mutex>
#include <string>

#include <nlohmann/json.hpp>

namespace harena::e2b {

/// Thread-safe.
class Counters {
 public:
  /// A request by its operation ("create", "envd", "unknown_route") and the status of its answer.
  void answered(const std::string& operation, int status);
  /// A field that a request had and this plugin doesn't know: it is ignored. The first kMaxFields names are told apart.
  void unknown_field(const std::string& operation, const std::string& field);
  /// A sandbox of a template's pool (warm/warm_pool.hpp): "claimed" by a create, "missed" when there was none, "refused" to who may not
  /// have it, "made", "failed" to be made, "unwell" when its ready command failed later.
  void warm(const std::string& template_id, const std::string& outcome);
  /// How many are ready now.
  void warm_ready(const std::string& template_id, std::size_t count);
  /// As harena.frontend/1 wants them.
  nlohmann::json metrics() const;

  static constexpr std::size_t kMaxFields = 200;

 private:
  using Series = std::map<std::pair<std::string, std::string>, std::uint64_t>;
  mutable std::mutex mutex_;
  Series requests_;
  Series fields_;
  Series warm_;
  std::map<std::string, std::size_t> warm_ready_;
};

}  // namespace harena::e2b
