#pragma once
// The fake's sandboxes, one JSON file each below its state folder: what another instance finds again after the host
// was killed at any point.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sdk/cpp/plugin.hpp"

namespace harena::fake {

using plugin::json;

/// Thread-safe for different ids; one call at a time for one id, as the contract's [task] promises, but for reserve,
/// which two callers may race.
class SandboxFiles {
 public:
  /// Makes the folders.
  static Result<SandboxFiles> open(std::filesystem::path folder);

  /// Claims `id` with a half-made entry; already_exists when it is in use.
  Status reserve(const std::string& id) const;
  /// Replaces the entry of `id` atomically.
  Status write(const std::string& id, const json& entry) const;
  /// not_found for an unknown id. A half-made entry is an empty object.
  Result<json> read(const std::string& id) const;
  /// Fine when it isn't there.
  Status remove(const std::string& id) const;
  std::vector<std::string> ids() const;
  std::filesystem::path counts_folder() const { return folder_ / "counts"; }

 private:
  explicit SandboxFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path path_of(const std::string& id) const { return folder_ / "sandboxes" / (id + ".json"); }
  std::filesystem::path folder_;
};

/// 1 to 64 letters and digits: fit for a file name.
Status check_id(std::string_view id);

}  // namespace harena::fake
