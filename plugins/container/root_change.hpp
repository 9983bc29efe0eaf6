#pragma once
// The root of a living sandbox: frozen into a layer, copied, put back; and what a crash in the middle leaves, mended.
//
// | step                                              | a crash after it                                   |
// | root.json says what is to come (`next`)           | the old root is in use: what was prepared goes      |
// | the new layer's folder, the new upper and work    | the same                                           |
// | the launcher puts the new root in place           | the kernel says which upper is in use: on or back   |
// | the old upper is moved to the layers (or removed) | goes on                                            |
// | root.json says what is                            | done; the old work folder goes with the sandbox     |

#include "plugins/container/launcher_client.hpp"
#include "plugins/container/layer_store.hpp"
#include "plugins/container/root_state.hpp"
#include "plugins/container/sandbox_state.hpp"
#include "sdk/base/serial_worker.hpp"

namespace harena::container {

/// Beyond it the layers of a sandbox become one at its next snapshot or fork: overlayfs allows 500 in all, and every look-up of a name
/// that isn't there asks each.
inline constexpr std::size_t kMostFrozen = 16;

/// Used once, for one sandbox that stands still. Not thread-safe.
class RootChange {
 public:
  /// `later` does what nobody has to wait for, and outlives this; what it doesn't get to goes with the sandbox.
  RootChange(LauncherClient& launcher, LayerStore& layers, SerialWorker& later, const std::string& id, const SandboxState& state)
      : launcher_(launcher), layers_(layers), later_(later), id_(id), state_(state) {}

  Status load();
  const RootRecord& record() const { return record_; }
  std::string upper_path() const { return state_.state_dir + "/" + record_.now.upper; }
  /// True when nothing was written since the last layer was frozen.
  Result<bool> unchanged() const;

  /// The upper becomes a layer, which `pin` uses beside the sandbox. Nobody but the init may live in the sandbox.
  Status freeze(const std::string& pin, const std::function<Status()>& check);
  /// Everything is as in `layers` again, with an empty upper. The same precondition. `disk`: an image, for a sandbox that has one.
  Status reset(const std::vector<FrozenLayer>& layers, int disk);
  /// Goes on with, or takes back, a change that was interrupted. Nothing to do otherwise.
  Status settle();

 private:
  Status begin(RootState::Change change);
  Status put_in_place(std::vector<std::string> frozen, int disk);
  Status commit();
  Status abort();
  Status make_upper(const RootState& root) const;
  Result<std::vector<FrozenLayer>> collapsed(const std::string& pin, const std::function<Status()>& check);
  std::vector<LayerImage> image_layers() const;

  LauncherClient& launcher_;
  LayerStore& layers_;
  SerialWorker& later_;
  const std::string& id_;
  const SandboxState& state_;
  RootRecord record_;
};

/// Layers laid onto each other as a new one, for `pin`; owners in the range `first_id`. `link`: layers in the store of the same range share
/// their files with it. Trees are opened by path, lowest first.
struct LayerSource {
  std::string path;
  std::uint32_t first_id = 0;
  bool frozen = true;
};
struct MadeLayer {
  FrozenLayer layer;
  std::int64_t copied_bytes = 0;
};
Result<MadeLayer> make_layer(LayerStore& layers, const std::vector<LayerSource>& sources, std::uint32_t first_id,
                             const std::string& pin, const std::function<Status()>& check);

/// Upper and work folders, whatever their numbers, and root.json: for a sandbox that has ended.
Status remove_roots(const std::string& state_dir);

}  // namespace harena::container
