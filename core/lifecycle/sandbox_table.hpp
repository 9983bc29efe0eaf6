#pragma once
// SandboxTable: the living sandboxes of this edge by id. Thread-safe; never blocks for I/O.

#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "core/lifecycle/admission.hpp"
#include "core/lifecycle/live_sandbox.hpp"

namespace harena {

using LivePtr = std::shared_ptr<LiveSandbox>;

class SandboxTable {
 public:
  void insert(const SandboxId& id, LivePtr live);
  /// Asks `admission` and inserts, as one step: of many creates at once exactly as many come in as there is room for.
  Status admit(const Admission& admission, const SandboxId& id, LivePtr live);
  /// One of the living gets the promise `to` instead of `from`, if `admission` lets it. Its record must say so by the time it is erased.
  Status change_promise(const Admission& admission, const Resources& from, const Resources& to);
  /// The same without asking, for what was promised before.
  void restore_promise(const Resources& from, const Resources& to);
  void erase(const SandboxId& id);
  /// Null when it isn't alive here.
  LivePtr find(const SandboxId& id) const;
  std::vector<LivePtr> all() const;
  std::vector<SandboxId> ids() const;
  std::size_t size() const;
  /// Sum over the living.
  Resources promised() const;

 private:
  /// The caller holds the lock.
  void add(const SandboxId& id, LivePtr live, const Resources& promised);

  mutable std::shared_mutex mutex_;
  std::map<SandboxId, LivePtr> live_;
  Resources promised_;
};

}  // namespace harena
