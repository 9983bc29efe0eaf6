#pragma once
// A tar archive into a folder: each file appears whole, nothing is written outside.

#include <optional>
#include <string>
#include <vector>

#include "sdk/session/file_stream_messages.hpp"
#include "shim/file_tree.hpp"
#include "shim/new_file.hpp"
#include "shim/tar_reader.hpp"

namespace harena::shim {

class TarExtractor : public TarSink {
 public:
  /// Borrows `folder` (O_PATH) and `tree`. `leftovers`: WorkerChannel::leftovers().
  TarExtractor(const FileTree& tree, int leftovers, int folder);

  Status begin(const TarEntry& entry) override;
  Status data(std::int64_t offset, std::string_view bytes) override;
  Status end(const TarEntry& entry) override;
  /// Owners, modes and times of the folders, last: a folder that may not be written could take no files.
  Status finish();

  const session::FileArchiveEnd& totals() const { return totals_; }

 private:
  struct Target {
    Place place;
    NewFile file;
  };
  Status open(const TarEntry& entry);
  /// The folder of `parts` but the last, made as needed; never through a symlink.
  Result<Place> place_of(const std::vector<std::string>& parts) const;
  Result<UniqueFd> enter(int folder, const std::string& name) const;
  Status make_folder(const TarEntry& entry, const std::vector<std::string>& parts);
  Status make_symlink(const TarEntry& entry, const Place& where) const;
  Status make_link(const TarEntry& entry, const Place& where) const;
  Status end_file(const TarEntry& entry);
  Status apply(const TarEntry& entry, int fd) const;

  const FileTree& tree_;
  int leftovers_;
  int folder_;
  std::optional<Target> target_;
  std::vector<TarEntry> folders_;
  session::FileArchiveEnd totals_;
};

}  // namespace harena::shim
