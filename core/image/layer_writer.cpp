#include "core/image/layer_writer.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/image/layer_attributes.hpp"

namespace harena::image {
namespace {

constexpr std::string_view kWhiteoutPrefix = ".wh.";
constexpr std::string_view kOpaqueName = ".wh..wh..opq";
/// AUFS's own files (.wh..wh.plnk, .wh..wh.aufs, .wh..wh.orph): never part of the content.
constexpr std::string_view kAufsPrefix = ".wh..wh.";

FileEntry plain_folder() {
  FileEntry entry;
  entry.type = EntryType::folder;
  entry.mode = 0755;
  return entry;
}

/// A folder below `root` with no symlink and no other file system on the way, whatever the path says.
Result<UniqueFd> open_beneath(int root, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
  // By number: glibc has no wrapper before 2.42.
  UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, root, path.empty() ? "." : path.c_str(), &how, sizeof how)));
  if (!fd) return errno_error(errno, "opening the folder '" + path + "' of the layer");
  return fd;
}

bool is_whiteout(const struct stat& status) { return S_ISCHR(status.st_mode) && status.st_rdev == 0; }

std::string joined(const std::string& folder, const std::string& name) { return folder.empty() ? name : folder + "/" + name; }

}  // namespace

Result<LayerWriter> LayerWriter::create(const std::filesystem::path& folder, MergedTree& tree, WhiteoutStyle style,
                                        std::int64_t max_bytes) {
  UniqueFd root(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root) return errno_error(errno, "layer folder '" + folder.string() + "'");
  tree.begin_layer();
  LayerWriter writer(std::move(root), tree, style, max_bytes);
  const auto* below = tree.find("");
  writer.folders_[""] = below == nullptr ? plain_folder() : below->folder;
  return writer;
}

Status LayerWriter::add(const FileEntry& entry, EntryReader& content, const Checkpoint& checkpoint) {
  HARENA_TRY(const auto path, normalise_path(entry.path));
  auto added = add_at(path, entry, content, checkpoint);
  if (added) return added;
  return std::move(added).error().during("entry '" + path + "'");
}

Status LayerWriter::add_at(const std::string& path, const FileEntry& entry, EntryReader& content, const Checkpoint& checkpoint) {
  if (path.empty()) {
    if (entry.type != EntryType::folder) return make_error(ErrorCode::invalid_argument, "the root of the archive isn't a folder");
    folders_[""] = entry;
    return tree_.put("", entry);
  }
  const auto [folder, name] = split_path(path);
  HARENA_TRY(const auto real_folder, tree_.resolve_folder(folder));
  if (style_ == WhiteoutStyle::oci && name.starts_with(kWhiteoutPrefix)) return add_whiteout(real_folder, name);
  return add_normal(real_folder, name, entry, content, checkpoint);
}

Result<int> LayerWriter::open_folder(const std::string& real_path) {
  if (!cached_folder_ || cached_path_ != real_path) {
    HARENA_TRY(cached_folder_, open_beneath(root_.get(), real_path));
    cached_path_ = real_path;
  }
  return cached_folder_.get();
}

/// Folders that the archive left out look as they do in the layers below.
Status LayerWriter::ensure_folders(const std::string& real_path) {
  if (folders_.contains(real_path)) return ok_status();
  HARENA_TRY_STATUS(ensure_folders(split_path(real_path).first));
  const auto* below = tree_.find(real_path);
  const bool known = below != nullptr && below->type == EntryType::folder;
  return make_folder(real_path, known ? FileEntry(below->folder) : plain_folder());
}

Status LayerWriter::make_folder(const std::string& real_path, const FileEntry& attributes) {
  const auto [parent, name] = split_path(real_path);
  HARENA_TRY(const bool was_whiteout, clear_place(real_path, attributes));
  HARENA_TRY(const int folder, open_folder(parent));
  if (::mkdirat(folder, name.c_str(), 0700) != 0 && errno != EEXIST) return errno_error(errno, "mkdir");
  folders_[real_path] = attributes;
  ++report_.entries;
  HARENA_TRY_STATUS(tree_.put(real_path, attributes));
  // Removed and made anew in one layer: nothing of the old one may show through.
  return was_whiteout ? make_opaque(real_path) : ok_status();
}

/// Makes room for an entry; later entries of an archive win. True when a whiteout was there.
Result<bool> LayerWriter::clear_place(const std::string& real_path, const FileEntry& entry) {
  const auto [parent, name] = split_path(real_path);
  HARENA_TRY(const int folder, open_folder(parent));
  struct stat status{};
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? Result<bool>(false) : Result<bool>(errno_error(errno, "stat"));
  }
  if (S_ISDIR(status.st_mode)) {
    if (entry.type == EntryType::folder) return false;
    HARENA_TRY_STATUS(remove_tree(real_path));
    return false;
  }
  if (::unlinkat(folder, name.c_str(), 0) != 0) return errno_error(errno, "replacing");
  return is_whiteout(status);
}

Status LayerWriter::remove_tree(const std::string& real_path) {
  cached_folder_.reset();
  std::error_code failure;
  std::filesystem::remove_all("/proc/self/fd/" + std::to_string(root_.get()) + "/" + real_path, failure);
  if (failure) return errno_error(failure.value(), "replacing a folder");
  const auto below = real_path + "/";
  std::erase_if(folders_, [&](const auto& item) { return item.first == real_path || item.first.starts_with(below); });
  return ok_status();
}

Status LayerWriter::add_whiteout(const std::string& folder, const std::string& name) {
  if (name == kOpaqueName) {
    const auto* below = tree_.find(folder);
    if (!folder.empty() && (below == nullptr || !(below->below || below->layer < tree_.layer()))) return ok_status();
    HARENA_TRY_STATUS(ensure_folders(folder));
    return make_opaque(folder);
  }
  if (name.starts_with(kAufsPrefix)) return ok_status();
  const auto hidden = name.substr(kWhiteoutPrefix.size());
  if (hidden.empty() || hidden == "." || hidden == "..") return make_error(ErrorCode::invalid_argument, "a whiteout '" + name + "' that names nothing");
  const auto path = joined(folder, hidden);
  const auto* node = tree_.find(path);
  if (node == nullptr) return ok_status();
  if (node->layer < tree_.layer()) {
    tree_.remove(path);
    HARENA_TRY_STATUS(ensure_folders(folder));
    return make_whiteout(path);
  }
  // This layer has put something there already: the whiteout means only what lies below.
  return node->type == EntryType::folder && node->below ? make_opaque(path) : ok_status();
}

Status LayerWriter::make_whiteout(const std::string& real_path) {
  const auto [parent, name] = split_path(real_path);
  HARENA_TRY(const int folder, open_folder(parent));
  if (::mknodat(folder, name.c_str(), S_IFCHR, ::makedev(0, 0)) != 0) return errno_error(errno, "making a whiteout");
  FileEntry fixed;  // so that equal input gives an equal layer
  fixed.type = EntryType::character_device;
  ++report_.entries;
  return set_attributes(folder, name, fixed, report_.xattrs_left_out);
}

Status LayerWriter::make_opaque(const std::string& real_path) {
  tree_.hide_lower(real_path);
  if (real_path.empty()) {
    auto& xattrs = folders_[""].xattrs;
    xattrs.emplace_back("trusted.overlay.opaque", "y");
    ++report_.entries;
    return ok_status();
  }
  const auto [parent, name] = split_path(real_path);
  HARENA_TRY(const int folder, open_folder(parent));
  return set_opaque(folder, name);
}

bool LayerWriter::leave_out(const FileEntry& entry) {
  const bool device = entry.type == EntryType::character_device || entry.type == EntryType::block_device;
  const bool whiteout = entry.type == EntryType::character_device && entry.device == 0;
  if (device && !whiteout) ++report_.devices_left_out;
  if (entry.type == EntryType::socket) ++report_.sockets_left_out;
  const bool needless = whiteout && style_ == WhiteoutStyle::oci;
  return (device && !whiteout) || needless || entry.type == EntryType::socket;
}

Status LayerWriter::add_normal(const std::string& folder, const std::string& name, const FileEntry& entry,
                               EntryReader& content, const Checkpoint& checkpoint) {
  HARENA_TRY_STATUS(checkpoint());
  if (leave_out(entry)) return ok_status();
  HARENA_TRY_STATUS(ensure_folders(folder));
  const auto path = joined(folder, name);
  if (entry.type == EntryType::folder) return make_folder(path, entry);
  FileEntry placed = entry;
  if (entry.type == EntryType::hardlink) {
    HARENA_TRY(placed.link, real_target(entry));
    if (placed.link == path) return ok_status();
  }
  HARENA_TRY_STATUS(clear_place(path, placed));
  HARENA_TRY(const int parent, open_folder(folder));
  HARENA_TRY_STATUS(create_node(parent, name, placed, content, checkpoint));
  ++report_.entries;
  if (entry.type == EntryType::hardlink) {
    const auto* target = tree_.find(placed.link);
    if (target != nullptr && target->type == EntryType::symlink) {  // another name of a link is a link
      placed.type = EntryType::symlink;
      placed.link = target->link;
    }
  }
  return tree_.put(path, placed);
}

Status LayerWriter::create_node(int folder, const std::string& name, const FileEntry& entry, EntryReader& content,
                                const Checkpoint& checkpoint) {
  if (entry.type == EntryType::hardlink) return add_hardlink(folder, name, entry);
  int made = 0;
  if (entry.type == EntryType::symlink) made = ::symlinkat(entry.link.c_str(), folder, name.c_str());
  else if (entry.type == EntryType::fifo) made = ::mknodat(folder, name.c_str(), S_IFIFO | 0600, 0);
  else if (entry.type == EntryType::character_device) made = ::mknodat(folder, name.c_str(), S_IFCHR, ::makedev(0, 0));
  else HARENA_TRY_STATUS(add_file(folder, name, entry, content, checkpoint));
  if (made != 0) return errno_error(errno, "making it");
  return set_attributes(folder, name, entry, report_.xattrs_left_out);
}

Status LayerWriter::add_file(int folder, const std::string& name, const FileEntry& entry, EntryReader& content,
                             const Checkpoint& checkpoint) {
  report_.bytes += entry.size;
  if (entry.size < 0 || report_.bytes > max_bytes_) {
    return make_error(ErrorCode::resource_exhausted, "the image holds more than " + std::to_string(max_bytes_) + " bytes");
  }
  UniqueFd file(::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return errno_error(errno, "creating it");
  return content.copy_content(file.get(), checkpoint);
}

/// Where the other name of a hard link really is.
Result<std::string> LayerWriter::real_target(const FileEntry& entry) const {
  HARENA_TRY(const auto target, normalise_path(entry.link));
  const auto [folder, name] = split_path(target);
  HARENA_TRY(const auto real_folder, tree_.resolve_folder(folder));
  return joined(real_folder, name);
}

Status LayerWriter::add_hardlink(int folder, const std::string& name, const FileEntry& entry) {
  const auto [target_folder, target_name] = split_path(entry.link);
  const auto missing = [&] {
    return make_error(ErrorCode::invalid_argument, "a hard link to '" + entry.link + "', which isn't a file of this layer");
  };
  auto from = open_beneath(root_.get(), target_folder);
  if (!from) return from.error().code == ErrorCode::not_found ? missing() : std::move(from).error();
  struct stat status{};
  if (::fstatat(from->get(), target_name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return missing();
  if (S_ISDIR(status.st_mode) || is_whiteout(status)) return missing();
  if (::linkat(from->get(), target_name.c_str(), folder, name.c_str(), 0) == 0) return ok_status();
  return errno_error(errno, "linking it to '" + entry.link + "'");
}

Result<LayerReport> LayerWriter::finish() {
  for (const auto& [path, attributes] : folders_) {
    const auto [parent, name] = split_path(path);
    HARENA_TRY(const int folder, open_folder(parent));
    auto set = set_attributes(folder, path.empty() ? "." : name, attributes, report_.xattrs_left_out);
    if (!set) return std::move(set).error().during("entry '" + path + "'");
  }
  return report_;
}

}  // namespace harena::image
