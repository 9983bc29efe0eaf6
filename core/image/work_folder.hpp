#pragma once
// WorkFolder: temporary space of the import, in a configured folder. What an earlier life left there is removed at the
// start; every piece goes with its object.

#include <filesystem>
#include <memory>
#include <string>

#include "sdk/base/random.hpp"
#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::image {

/// A folder (mode 0700) that is removed, with all in it, when this is destroyed.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Thread-safe.
class WorkFolder {
 public:
  /// Makes `root` (0700, absolute) when it isn't there, locks it (failed_precondition: used by another process) and
  /// removes its `import.*` folders; nothing else in it is touched.
  static Result<std::unique_ptr<WorkFolder>> open(const std::filesystem::path& root, RandomSource& random);

  Result<TemporaryFolder> make();
  const std::filesystem::path& root() const { return root_; }

 private:
  WorkFolder(std::filesystem::path root, UniqueFd lock, RandomSource& random)
      : root_(std::move(root)), lock_(std::move(lock)), random_(random) {}
  std::filesystem::path root_;
  UniqueFd lock_;
  RandomSource& random_;
};

}  // namespace harena::image
