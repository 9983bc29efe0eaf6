#pragma once
// Readiness: named conditions that must all hold before traffic is sent to this process.

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "sdk/base/result.hpp"

namespace harena {

/// Thread-safe.
class Readiness {
 public:
  /// Must not block: it runs on an I/O thread. An Error says why not.
  using Check = std::function<Status()>;

  /// Adds or replaces.
  void add(std::string name, Check check);
  void remove(const std::string& name);
  /// What doesn't hold, by name; empty: ready. A check that throws doesn't hold.
  std::map<std::string, std::string> failed() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Check> checks_;
};

}  // namespace harena
