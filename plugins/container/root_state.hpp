#pragma once
// What a sandbox's root is made of: state_dir/root.json. Only sandboxes that were forked, snapshotted or made of a snapshot have
// it; the others have no frozen layers and the first names.
//
// A change of root is written down before it is begun (`next`) and after it is done; a crash in between is mended by asking the kernel
// which upper is in use (root_change.cpp).

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sdk/base/result.hpp"

namespace harena::container {

/// A layer in the store, with the range of ids that its owners have on the disk.
struct FrozenLayer {
  std::string id;
  std::uint32_t first_id = 0;
  bool operator==(const FrozenLayer&) const = default;
};
nlohmann::json to_json(const std::vector<FrozenLayer>& layers);
/// Throws nlohmann::json::exception.
std::vector<FrozenLayer> frozen_from_json(const nlohmann::json& value);

struct RootState {
  /// Names in state_dir, or on the sandbox's own disk: "u", "u1", "u2"; the work folder has the same number.
  std::string upper = "u";
  std::string work = "w";
  std::vector<FrozenLayer> frozen;  // lowest first

  /// The names after these.
  RootState following() const;
  /// Of the image that holds them, in state_dir, for a sandbox with a disk of its own: "d", "d1".
  std::string disk() const { return "d" + upper.substr(1); }
  /// The layer that the upper becomes in the change; empty: it is left behind.
  struct Change;
};

struct RootState::Change {
  RootState to;
  std::string becomes;
};

struct RootRecord {
  RootState now;
  std::optional<RootState::Change> next;

  /// The first names when there is no file, and when it is empty: a crash of the machine leaves that of one that wasn't flushed, and no
  /// sandbox outlives it. data_loss when it can't be read.
  static Result<RootRecord> read(const std::string& state_dir);
  /// Atomic for whoever reads it (a new file in the old one's place). Not flushed: it says what is mounted, which ends with the machine.
  Status write(const std::string& state_dir) const;
};

}  // namespace harena::container
