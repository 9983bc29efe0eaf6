#pragma once
// FileSet: files by name, of a folder or out of an archive; what the readers of OCI layouts and docker archives work with.

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "core/image/process.hpp"
#include "core/image/work_folder.hpp"
#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::image {

/// Index, manifests and configs of other tools; registries allow 4 MiB.
inline constexpr std::size_t kMaxDocumentBytes = 4 << 20;
/// An archive of 128 layers has about 400 files.
inline constexpr std::size_t kMaxArchiveFiles = 10'000;

class FileSet {
 public:
  virtual ~FileSet() = default;
  /// A regular file, at its start. not_found names it.
  virtual Result<UniqueFd> open(const std::string& name) const = 0;
  /// The whole of a small file (at most kMaxDocumentBytes).
  Result<std::string> read(const std::string& name) const;
  bool has(const std::string& name) const { return open(name).ok(); }
};

/// A folder on disk; symbolic links in it are refused.
class FolderFiles final : public FileSet {
 public:
  static Result<std::unique_ptr<FolderFiles>> open_folder(const std::filesystem::path& folder);
  Result<UniqueFd> open(const std::string& name) const override;

 private:
  FolderFiles(UniqueFd folder, std::string shown) : folder_(std::move(folder)), shown_(std::move(shown)) {}
  UniqueFd folder_;
  std::string shown_;
};

/// A tar, unpacked into a temporary folder under numbers, so that no name in it is ever a path; links are other names of
/// files in the archive.
class ArchiveFiles final : public FileSet {
 public:
  static Result<std::unique_ptr<ArchiveFiles>> unpack(const std::filesystem::path& archive, WorkFolder& work,
                                                      const Checkpoint& checkpoint);
  Result<UniqueFd> open(const std::string& name) const override;

 private:
  ArchiveFiles(TemporaryFolder folder, std::string shown) : folder_(std::move(folder)), shown_(std::move(shown)) {}
  TemporaryFolder folder_;
  std::string shown_;
  std::map<std::string, std::string> files_;  ///< name to number
  std::map<std::string, std::string> links_;  ///< name to name
};

}  // namespace harena::image
