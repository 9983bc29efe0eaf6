// A folder as a tar stream.

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>

#include "shim/file_verbs.hpp"
#include "shim/remove_tree.hpp"
#include "shim/tar_writer.hpp"
#include "shim/xattrs.hpp"

namespace harena::shim {
namespace {

/// Folders inside each other: each costs a descriptor and a stack frame.
constexpr int kMaxDepth = 2048;
constexpr std::size_t kChunkBytes = 256 << 10;

TarKind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return TarKind::file;
  if (S_ISDIR(mode)) return TarKind::folder;
  return S_ISLNK(mode) ? TarKind::symlink : TarKind::other;
}

class FolderArchive {
 public:
  FolderArchive(const FileTree& tree, TarWriter& writer) : tree_(tree), writer_(writer), buffer_(kChunkBytes, '\0') {}

  Status walk(int folder, const std::string& prefix, int depth) {
    if (depth > kMaxDepth) return make_error(ErrorCode::out_of_range, "over " + std::to_string(kMaxDepth) + " folders inside each other");
    HARENA_TRY(auto names, folder_names(folder, prefix));
    for (const auto& name : names) HARENA_TRY_STATUS(visit(folder, name, prefix.empty() ? name : prefix + "/" + name, depth));
    return {};
  }

  const session::FileArchiveEnd& totals() const { return totals_; }

 private:
  Status visit(int folder, const std::string& name, const std::string& path, int depth) {
    UniqueFd found(::openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!found && errno == ENOENT) return {};
    struct stat info{};
    if (!found || ::fstat(found.get(), &info) != 0) return file_error(errno, "'" + path + "'");
    // A socket is nothing but its listener.
    if (S_ISSOCK(info.st_mode)) return {};
    ++totals_.entries;
    HARENA_TRY(auto entry, describe(found.get(), path, info));
    if (entry.kind == TarKind::file) return add_file(found.get(), entry, info);
    HARENA_TRY_STATUS(writer_.begin(entry, info.st_mode & S_IFMT, {}));
    return entry.kind == TarKind::folder ? enter(folder, name, path, depth) : ok_status();
  }

  Result<TarEntry> describe(int found, const std::string& path, const struct stat& info) {
    TarEntry entry;
    entry.kind = kind_of(info.st_mode);
    entry.path = path;
    entry.mode = info.st_mode & 07777;
    entry.uid = info.st_uid;
    entry.gid = info.st_gid;
    entry.mtime_s = info.st_mtim.tv_sec;
    entry.mtime_ns = info.st_mtim.tv_nsec;
    entry.size = S_ISREG(info.st_mode) ? info.st_size : 0;
    if (entry.kind == TarKind::symlink) {
      HARENA_TRY(auto link, stat_of(found, path));
      entry.target = std::move(link.target);
    }
    HARENA_TRY(entry.xattrs, xattrs_of(tree_, found, path));
    return entry;
  }

  /// A mount point is an empty folder: what is mounted isn't this folder's.
  Status enter(int folder, const std::string& name, const std::string& path, int depth) {
    open_how how{};
    how.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    how.resolve = RESOLVE_NO_XDEV;
    UniqueFd inside(static_cast<int>(::syscall(SYS_openat2, folder, name.c_str(), &how, sizeof how)));
    if (!inside && (errno == EXDEV || errno == ENOENT)) return {};
    if (!inside) return file_error(errno, "'" + path + "'");
    return walk(inside.get(), path, depth + 1);
  }

  Status add_file(int found, TarEntry& entry, const struct stat& info) {
    auto inode = std::pair(info.st_dev, info.st_ino);
    if (info.st_nlink > 1) {
      auto [first, is_new] = links_.emplace(inode, entry.path);
      if (!is_new) {
        entry.kind = TarKind::hard_link;
        entry.target = first->second;
        return writer_.begin(entry, S_IFREG, {});
      }
    }
    // The object that was looked at: a name may mean a FIFO by now.
    UniqueFd file(::openat(tree_.proc(), FileTree::link_of(found).c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!file) return file_error(errno, "opening '" + entry.path + "'");
    HARENA_TRY(auto regions, regions_of(file.get(), entry));
    bool holes = !(regions.size() == 1 && regions[0].offset == 0 && regions[0].length == entry.size) && entry.size > 0;
    HARENA_TRY_STATUS(writer_.begin(entry, S_IFREG, holes ? std::optional(regions) : std::nullopt));
    std::int64_t at = 0;
    for (const auto& region : regions) {
      HARENA_TRY_STATUS(writer_.hole(region.offset - at));
      HARENA_TRY_STATUS(copy(file.get(), region, entry.path));
      at = region.offset + region.length;
    }
    return writer_.hole(entry.size - at);
  }

  /// Up to the size that the file had; one region where the file system tells no holes.
  static Result<std::vector<TarRegion>> regions_of(int file, const TarEntry& entry) {
    std::vector<TarRegion> regions;
    for (off_t at = 0; at < entry.size;) {
      off_t begin = ::lseek(file, at, SEEK_DATA);
      if (begin < 0 && errno == ENXIO) break;
      off_t end = begin < 0 ? -1 : ::lseek(file, begin, SEEK_HOLE);
      if (begin < 0 || end < 0) return std::vector{TarRegion{0, entry.size}};
      if (begin >= entry.size) break;
      end = std::min<off_t>(end, entry.size);
      regions.push_back({begin, end - begin});
      at = end;
    }
    return regions;
  }

  Status copy(int file, const TarRegion& region, const std::string& path) {
    for (std::int64_t done = 0; done < region.length;) {
      auto want = static_cast<std::size_t>(std::min<std::int64_t>(region.length - done, kChunkBytes));
      auto got = ::pread(file, buffer_.data(), want, region.offset + done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return file_error(errno, "reading '" + path + "'");
      if (got == 0) return make_error(ErrorCode::aborted, "'" + path + "' got shorter while it was read");
      HARENA_TRY_STATUS(writer_.data({buffer_.data(), static_cast<std::size_t>(got)}));
      done += got;
    }
    totals_.bytes += static_cast<std::uint64_t>(region.length);
    return {};
  }

  const FileTree& tree_;
  TarWriter& writer_;
  std::string buffer_;
  std::map<std::pair<dev_t, ino_t>, std::string> links_;
  session::FileArchiveEnd totals_;
};

}  // namespace

Result<std::string> read_archive(const FileTree& tree, WorkerChannel& channel, const session::FileArchiveReadRequest& request) {
  HARENA_TRY(auto found, tree.find(request.path, Links::follow));
  HARENA_TRY(auto stat, stat_of(found.get(), request.path));
  if (stat.type != session::FileType::directory) return not_a_folder(request.path);
  // Before the answer begins: whether there is anything to read at all.
  HARENA_TRY_STATUS(folder_names(found.get(), request.path));
  auto left = make_error(ErrorCode::unavailable, "the client has left");
  if (!channel.send_message(session::FrameType::file_stat, stat)) return left;
  HARENA_TRY(auto writer, TarWriter::create([&](std::string_view bytes) -> Status {
    if (!channel.send(session::FrameType::data, bytes)) return left;
    return {};
  }));
  FolderArchive archive(tree, *writer);
  HARENA_TRY_STATUS(archive.walk(found.get(), "", 0));
  HARENA_TRY_STATUS(writer->finish());
  return session::encode(archive.totals());
}

}  // namespace harena::shim
