#pragma once
// MergedTree: what paths mean after the layers so far have been laid over each other. Pure: no file is touched.
//
// A layer's tar may say "bin/tool" where a lower layer has bin -> usr/bin, and may leave out the folders above a file.
// This tree knows the lower layers' symlinks and the attributes of their folders, so that the layer gets the file at its
// real place ("usr/bin/tool") and folders that look as they did. As names are resolved here, inside the tree, the writer
// never follows a link on disk, and nothing can lead out.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "core/image/entry.hpp"
#include "sdk/base/result.hpp"

namespace harena::image {

/// Of all layers of one image: a hostile archive may not fill the memory.
inline constexpr std::size_t kMaxTreeNodes = 4'000'000;
/// The kernel's own limits (PATH_MAX, NAME_MAX, and 40 links as in path_resolution(7)).
inline constexpr std::size_t kMaxPathBytes = 4095;
inline constexpr std::size_t kMaxComponentBytes = 255;
inline constexpr int kMaxLinks = 40;

/// "a/b" for "./a//b/" and "/a/b"; "" for the root. invalid_argument for "..", NUL and what is too long.
Result<std::string> normalise_path(std::string_view path);

struct TreeNode {
  EntryType type = EntryType::file;
  int layer = 0;             ///< the layer that put it there last
  bool below = false;        ///< a lower layer had something there too
  std::string link;          ///< of a symlink
  FileEntry folder;          ///< attributes of a folder, without path
};

class MergedTree {
 public:
  /// Paths put from now on belong to the next layer; the first is 1.
  void begin_layer() { ++layer_; }
  int layer() const { return layer_; }

  /// Where the folder `path` (normalised) really is, its symlinks resolved inside the tree; folders that don't exist stand
  /// for themselves. invalid_argument for a loop or when a file is in the way.
  Result<std::string> resolve_folder(std::string_view path) const;
  /// Null when nothing is there.
  const TreeNode* find(const std::string& real_path) const;
  /// Replaces what was there; a folder over a folder keeps what is in it. resource_exhausted beyond kMaxTreeNodes.
  Status put(const std::string& real_path, const FileEntry& entry);
  /// Removes it with all below it. True when lower layers had something there.
  bool remove(const std::string& real_path);
  /// Removes what lower layers have below a folder.
  void hide_lower(const std::string& real_folder);

 private:
  Result<std::string> step(const std::string& at, const std::string& name, std::string& rest, int& links) const;
  std::map<std::string, TreeNode> nodes_;
  int layer_ = 0;
};

/// "a" and "b" for "a/b"; "" and "b" for "b".
std::pair<std::string, std::string> split_path(const std::string& path);

}  // namespace harena::image
