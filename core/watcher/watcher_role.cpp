#include "core/watcher/watcher_role.hpp"

namespace harena {

std::vector<NodeView> WatcherRole::nodes() const {
  std::vector<NodeView> table;
  table.reserve(reports_.size());
  for (const auto& report : reports_) table.push_back(report());
  return table;
}

}  // namespace harena
