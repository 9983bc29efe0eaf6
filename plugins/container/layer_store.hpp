#pragma once
// Frozen layers: what sandboxes wrote up to a snapshot or a fork, shared by all that came from there.
//
//   FOLDER/ID/u            the tree, as overlayfs left it; never changed any more
//   FOLDER/ID/users/NAME   one empty file for each sandbox and snapshot that needs it
//   FOLDER/snapshots/NAME  the folder that says by its existence that the snapshot lives
//
// FOLDER is beside the sandboxes' state folders (.container-layers), so that an upper becomes a layer by one rename(2). The files
// are the count of users: nothing has to be counted again after a crash. A user is written down before it relies on a layer.
// Every layer is whole: it needs no other one, only the place in its users' lists.

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "plugins/container/root_state.hpp"

namespace harena::container {

/// Thread-safe.
class LayerStore {
 public:
  /// Of the sandboxes below the parent of `state_dir`.
  static std::string folder_for(const std::string& state_dir);
  explicit LayerStore(std::string folder) : folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }
  std::string tree(const std::string& layer) const { return folder_ + "/" + layer + "/u"; }
  /// "FIRST_ID=PATH" for SandboxRequest::frozen.
  std::vector<std::string> entries(const std::vector<FrozenLayer>& layers) const;

  /// An id that no layer has.
  static Result<std::string> new_id();
  /// The layer's folder, still without a tree, with its first user.
  Status begin(const std::string& layer, const std::string& user);
  /// Moves `upper` (a folder on the same file system) into it.
  Status take(const std::string& layer, const std::string& upper);
  /// Adds the user to all of them, or to none: not_found names a layer that isn't there.
  Status add_user(const std::vector<FrozenLayer>& layers, const std::string& user);
  /// The user needs them no more; those that nobody needs are removed. Idempotent.
  Status drop_user(const std::vector<FrozenLayer>& layers, const std::string& user);
  /// The same for whatever it uses: looks at every layer.
  Status drop_user(const std::string& user);
  /// Returns when what is in the store is on the disk: a power cut takes nothing of it. Whatever else waits to be written on the same file
  /// system is written too.
  Status sync() const;
  /// A snapshot is alive as long as `folder` exists; drop_user forgets it.
  Status remember_snapshot(const std::string& name, const std::string& folder);
  /// Removes what nobody needs who is in `alive`, a living snapshot, or a pin.
  Status collect(const std::set<std::string>& alive);

  /// A user for the time of a call. What a crash leaves of it is nobody that lives.
  class Pin {
   public:
    explicit Pin(LayerStore& layers);
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;
    ~Pin();
    const std::string& name() const { return name_; }

   private:
    LayerStore& layers_;
    std::string name_;
  };

 private:
  Status remove_locked(int folder, const std::string& layer);
  Status drop_locked(int folder, const std::string& layer, const std::string& user);

  bool lives_locked(const std::string& user, const std::set<std::string>& alive) const;

  const std::string folder_;
  std::mutex mutex_;
  std::set<std::string> pins_;
};

}  // namespace harena::container
