#include "core/lifecycle/backend_registry.hpp"

#include "sdk/base/text.hpp"

namespace harena {

Status check_can_pause(const BackendEntry& entry, IdleAction action, const std::string& what) {
  const auto& description = entry.backend->describe();
  if (action != IdleAction::pause || description.verbs.contains("pause")) return ok_status();
  return make_error(ErrorCode::invalid_argument, what + " is pause, which the backend '" + description.name +
                                                     "' hasn't got; it must be stop");
}

Status BackendRegistry::add(BackendEntry entry) {
  const std::string name = entry.backend->describe().name;
  const auto [it, added] = entries_.emplace(name, entry);
  if (added) return ok_status();
  return make_error(ErrorCode::already_exists, "plugins " + it->second.plugin_id + " and " + entry.plugin_id +
                                                   " both offer the backend '" + name + "'; enable one of them");
}

Result<BackendEntry> BackendRegistry::find(const std::string& name) const {
  if (const auto it = entries_.find(name); it != entries_.end()) return it->second;
  std::vector<std::string> names;
  for (const auto& [known, entry] : entries_) names.push_back(known);
  return make_error(ErrorCode::not_found, "no backend '" + name.substr(0, 80) + "'" + suggestion(name, names));
}

}  // namespace harena
