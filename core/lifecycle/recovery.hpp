#pragma once
// Recovery: what a start finds in the store, made true again. Used once, before anything else touches the manager.

#include "core/lifecycle/manager.hpp"

namespace harena {

/// | found     | what happens                                                          |
/// | creating  | undone: backend stop, folders, record and idempotency key removed     |
/// | stopping  | stopped again                                                         |
/// | others    | the backend is asked: running, paused, or gone (failed, with a cause) |
/// Then each backend sweeps what belongs to no record, and folders without a record are removed.
class Recovery {
 public:
  explicit Recovery(SandboxManager& manager) : manager_(manager) {}
  Result<std::size_t> run();

 private:
  void recover_one(const Sandbox& record);
  void undo_creation(const LivePtr& live, const BackendEntry& entry);
  void find_again(const LivePtr& live, const BackendEntry& entry);
  void mend_snapshots();
  /// Of one that died in the middle of a resize: `left_standing` if it ran before.
  void finish_resize(const LivePtr& live, bool left_standing);
  void sweep_backends();
  void remove_orphan_folders(const std::string& parent);

  SandboxManager& manager_;
};

}  // namespace harena
