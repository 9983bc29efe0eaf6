#pragma once
// WatcherRole: the node table. With all roles in one process it asks the edge beside it; in a cluster it polls edges over
// the network (roadmap: many machines). It holds no durable state.

#include <functional>
#include <vector>

#include "core/placement/placement.hpp"

namespace harena {

class WatcherRole {
 public:
  using Report = std::function<NodeView()>;
  /// During the start only.
  void watch(Report report) { reports_.push_back(std::move(report)); }
  /// Asked for every placement: a report in process costs microseconds, so it is never old.
  std::vector<NodeView> nodes() const;

 private:
  std::vector<Report> reports_;
};

}  // namespace harena
