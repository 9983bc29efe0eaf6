#pragma once
// LayerWriter: writes the entries of one layer into an empty folder, as root, exactly: owners, modes with set-id bits,
// times, xattrs with file capabilities, hard links, holes, FIFOs, names of any bytes.
//
//   - OCI whiteouts become overlayfs's: `.wh.NAME` a character device 0:0 named NAME, `.wh..wh..opq` the xattr
//     trusted.overlay.opaque=y. Only where lower layers have something: overlayfs shows needless ones in listings.
//   - Device nodes are left out and counted: a sandbox gets its own /dev, and a node of the host's disk in an image would
//     be an attack. Sockets are left out: no process listens. (The device 0:0 is a whiteout already.)
//   - Xattrs kept: user.*, security.capability, system.posix_acl_*, trusted.overlay.opaque. Others (SELinux and IMA labels
//     of another host, overlayfs's redirects) are left out and counted.
//   - Nothing is written outside: '..' is refused, links are resolved inside the image (MergedTree), and every folder is
//     opened with openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV).

#include <filesystem>
#include <map>
#include <string>

#include "core/image/entry.hpp"
#include "core/image/merged_tree.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::image {

/// What a layer had and what was left out; for the notes of an import.
struct LayerReport {
  std::int64_t entries = 0;  ///< written, whiteouts included; 0: the layer changes nothing
  std::int64_t bytes = 0;
  std::int64_t devices_left_out = 0;
  std::int64_t sockets_left_out = 0;
  std::int64_t xattrs_left_out = 0;
};

/// How the source says that something of a lower layer is gone.
enum class WhiteoutStyle : std::uint8_t {
  oci,       ///< `.wh.` names, kept where a lower layer of the same image has something
  overlayfs  ///< devices 0:0 and opaque xattrs, all kept (the upper folder of an overlay); `.wh.` is a name like others
};

/// One layer, one thread.
class LayerWriter {
 public:
  /// `folder` is empty and on a file system with trusted and user xattrs. Begins a layer of `tree`. `max_bytes` bounds the
  /// content written (resource_exhausted beyond it).
  static Result<LayerWriter> create(const std::filesystem::path& folder, MergedTree& tree, WhiteoutStyle style,
                                    std::int64_t max_bytes);

  /// Errors name the entry: invalid_argument for a hostile or impossible one, resource_exhausted for a full disk.
  Status add(const FileEntry& entry, EntryReader& content, const Checkpoint& checkpoint);
  /// Sets the attributes of folders, which writing into them would have changed. Last call.
  Result<LayerReport> finish();

 private:
  LayerWriter(UniqueFd root, MergedTree& tree, WhiteoutStyle style, std::int64_t max_bytes)
      : root_(std::move(root)), tree_(tree), style_(style), max_bytes_(max_bytes) {}

  Status add_at(const std::string& path, const FileEntry& entry, EntryReader& content, const Checkpoint& checkpoint);
  Result<int> open_folder(const std::string& real_path);
  Status ensure_folders(const std::string& real_path);
  Status make_folder(const std::string& real_path, const FileEntry& attributes);
  Result<bool> clear_place(const std::string& real_path, const FileEntry& entry);
  Status remove_tree(const std::string& real_path);
  Status add_whiteout(const std::string& folder, const std::string& name);
  Status make_whiteout(const std::string& real_path);
  Status make_opaque(const std::string& real_path);
  Status add_normal(const std::string& folder, const std::string& name, const FileEntry& entry, EntryReader& content,
                    const Checkpoint& checkpoint);
  Status create_node(int folder, const std::string& name, const FileEntry& entry, EntryReader& content,
                     const Checkpoint& checkpoint);
  Status add_file(int folder, const std::string& name, const FileEntry& entry, EntryReader& content, const Checkpoint& checkpoint);
  Status add_hardlink(int folder, const std::string& name, const FileEntry& entry);
  Result<std::string> real_target(const FileEntry& entry) const;
  bool leave_out(const FileEntry& entry);

  UniqueFd root_;
  MergedTree& tree_;
  WhiteoutStyle style_;
  std::int64_t max_bytes_;
  LayerReport report_;
  UniqueFd cached_folder_;
  std::string cached_path_;
  std::map<std::string, FileEntry> folders_;  ///< of this layer, attributes to be set at the end
};

}  // namespace harena::image
