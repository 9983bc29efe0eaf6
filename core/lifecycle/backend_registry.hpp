#pragma once
// BackendRegistry: the backends of this edge by name. Filled at start, constant afterwards, so it needs no lock.

#include <functional>
#include <map>
#include <string>

#include "core/contracts/backend.hpp"
#include "core/model/sandbox.hpp"
#include "sdk/base/result.hpp"

namespace harena {

struct BackendEntry {
  Backend* backend = nullptr;  ///< owned by the plugin host, which outlives the registry
  std::string plugin_id;
  std::string plugin_version;
  /// Checks create's params against the backend's schema and fills in its defaults; invalid_argument names the
  /// parameter, its value and what would be right.
  std::function<Result<nlohmann::json>(const nlohmann::json& params)> check_params;
};

/// invalid_argument when `action` is pause and the backend can't; `what` is the field that says it.
Status check_can_pause(const BackendEntry& entry, IdleAction action, const std::string& what);

class BackendRegistry {
 public:
  /// already_exists when two plugins offer the same name: which would win must not depend on an order.
  Status add(BackendEntry entry);
  /// not_found names the nearest that is there.
  Result<BackendEntry> find(const std::string& name) const;
  const std::map<std::string, BackendEntry>& all() const { return entries_; }

 private:
  std::map<std::string, BackendEntry> entries_;
};

}  // namespace harena
