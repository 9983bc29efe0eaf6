// Listing: names sorted by bytes, a folder before what is in it; so the path of the last entry is the cursor, and it works also
// when that entry is gone by then. What is left out is never left out silently.

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "sdk/base/text.hpp"
#include "shim/file_verbs.hpp"
#include "shim/remove_tree.hpp"
#include "shim/xattrs.hpp"

namespace harena::shim {
namespace {

constexpr std::size_t kBatchBytes = 128 << 10;
/// Far below what a message can hold.
constexpr std::size_t kMaxEntryBytes = 1 << 20;

std::size_t bytes_of(const session::FileStat& stat) {
  std::size_t bytes = 128 + stat.path.size() + stat.target.size();
  for (const auto& [name, value] : stat.xattrs) bytes += 16 + name.size() + value.size();
  return bytes;
}

class Lister {
 public:
  Lister(const FileTree& tree, WorkerChannel& channel, const session::FileListRequest& request)
      : tree_(tree), channel_(channel), request_(request), cursor_(split(request.cursor, '/')) {}

  /// `behind`: how many leading parts of the cursor lead here; -1 when the cursor is behind us already. Nested as deep as paths
  /// can be: kMaxPathBytes / 2 folders.
  Status walk(int folder, const std::string& prefix, int behind) {
    HARENA_TRY(auto names, folder_names(folder, prefix.empty() ? request_.path : prefix));
    bool guided = behind >= 0 && static_cast<std::size_t>(behind) < cursor_.size();
    for (const auto& name : names) {
      std::string_view mark = guided ? std::string_view(cursor_[static_cast<std::size_t>(behind)]) : std::string_view();
      if (guided && name < mark) continue;
      bool on_path = guided && name == mark;
      HARENA_TRY_STATUS(visit(folder, name, prefix.empty() ? name : prefix + "/" + name, on_path ? behind + 1 : -1));
      if (full_) return {};
    }
    return {};
  }

  Result<std::string> finish() {
    HARENA_TRY_STATUS(flush());
    session::FileListEnd end;
    if (full_) end.cursor = last_;
    return session::encode(end);
  }

 private:
  Status visit(int folder, const std::string& name, const std::string& path, int behind) {
    struct stat info{};
    bool known = ::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (!known && errno == ENOENT) return {};
    // A folder that may be read but not searched has names only: type unknown.
    auto stat = to_file_stat(info, path);
    UniqueFd inside;
    if (known && S_ISDIR(info.st_mode) && request_.recursive) {
      HARENA_TRY(inside, open_inside(folder, name, stat));
    }
    if (behind < 0) {
      if (count_ == request_.limit || bytes_ > session::kMaxListPageBytes) return full_ = true, ok_status();
      HARENA_TRY_STATUS(emit(folder, name, std::move(stat)));
    }
    return inside ? walk(inside.get(), path, behind) : ok_status();
  }

  /// Nothing, and `unlisted` says why; or nothing because it vanished.
  Result<UniqueFd> open_inside(int folder, const std::string& name, session::FileStat& stat) const {
    if (request_.path.size() + stat.path.size() + 3 > session::kMaxPathBytes) {
      stat.unlisted = "path_too_long";
      return UniqueFd();
    }
    UniqueFd inside(::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (inside || errno == ENOENT || errno == ENOTDIR || errno == ELOOP) return inside;
    if (errno != EACCES && errno != EPERM) return file_error(errno, "listing '" + stat.path + "'");
    stat.unlisted = "permission_denied";
    return UniqueFd();
  }

  Status emit(int folder, const std::string& name, session::FileStat stat) {
    const bool link = stat.type == session::FileType::symlink;
    if (link || !request_.xattrs.empty()) {
      UniqueFd entry(::openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
      if (auto whole = stat_of(entry.get(), stat.path); link && whole) stat.target = whole->target;
      if (entry) HARENA_TRY_STATUS(add_xattrs(entry.get(), stat));
    }
    last_ = stat.path;
    bytes_ += bytes_of(stat);
    batch_bytes_ += bytes_of(stat);
    batch_.entries.push_back(std::move(stat));
    ++count_;
    return batch_bytes_ >= kBatchBytes ? flush() : ok_status();
  }

  /// None where they can't be had: they are an addition to what was asked for.
  Status add_xattrs(int entry, session::FileStat& stat) const {
    if (request_.xattrs.empty()) return {};
    auto all = xattrs_of(tree_, entry, stat.path);
    if (!all) return {};
    std::erase_if(*all, [this](const auto& one) { return !one.first.starts_with(request_.xattrs); });
    stat.xattrs = std::move(*all);
    if (bytes_of(stat) <= kMaxEntryBytes) return {};
    return make_error(ErrorCode::resource_exhausted, "'" + stat.path + "' has over 1 MiB of attributes that begin with '" + request_.xattrs +
                                                         "': list without xattrs");
  }

  Status flush() {
    if (batch_.entries.empty()) return {};
    if (!channel_.send_message(session::FrameType::entries, batch_)) return make_error(ErrorCode::unavailable, "the client has left");
    batch_.entries.clear();
    batch_bytes_ = 0;
    return {};
  }

  const FileTree& tree_;
  WorkerChannel& channel_;
  const session::FileListRequest& request_;
  std::vector<std::string> cursor_;
  session::FileEntries batch_;
  std::string last_;
  std::size_t batch_bytes_ = 0;
  std::size_t bytes_ = 0;
  std::uint32_t count_ = 0;
  bool full_ = false;
};

}  // namespace

Result<std::string> list_files(const FileTree& tree, WorkerChannel& channel, const session::FileListRequest& request) {
  if (request.limit < 1 || request.limit > session::kMaxListEntries) {
    auto most = std::to_string(session::kMaxListEntries);
    return make_error(ErrorCode::invalid_argument, "limit " + std::to_string(request.limit) + ": 1 to " + most);
  }
  HARENA_TRY(auto found, tree.find(request.path, Links::follow));
  struct stat info{};
  if (::fstat(found.get(), &info) != 0) return file_error(errno, "stat of '" + request.path + "'");
  if (!S_ISDIR(info.st_mode)) return not_a_folder(request.path);
  Lister lister(tree, channel, request);
  HARENA_TRY_STATUS(lister.walk(found.get(), "", request.cursor.empty() ? -1 : 0));
  return lister.finish();
}

}  // namespace harena::shim
