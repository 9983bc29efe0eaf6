#pragma once
// Steps: a daemon's start as an ordered list, and its end as the same list backwards.

#include <functional>
#include <string>
#include <vector>

#include "sdk/base/result.hpp"

namespace harena {

struct Step {
  std::string name;
  /// An error ends the start; what was started before is stopped.
  std::function<Status()> start;
  /// May be empty. Must not fail: every step's stop is called, whatever the others did.
  std::function<void()> stop;
};

/// Not thread-safe.
class StepList {
 public:
  /// `report` hears what happens, for the log: "started NAME", "stopped NAME".
  explicit StepList(std::function<void(const std::string&)> report) : report_(std::move(report)) {}
  ~StepList() { stop(); }

  void add(Step step) { steps_.push_back(std::move(step)); }
  /// In order; at the first error everything started is stopped again and the error names the step.
  Status start();
  /// In reverse order, each once. Idempotent.
  void stop();

 private:
  std::function<void(const std::string&)> report_;
  std::vector<Step> steps_;
  std::size_t started_ = 0;
};

}  // namespace harena
