// Watching a folder. What happens in a folder that was just made, before it could be watched, is found by listing it right after; and what
// the kernel lost is said.

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "shim/file_verbs.hpp"
#include "shim/remove_tree.hpp"
#include "shim/watch_tree.hpp"

namespace harena::shim {

using session::FileEventKind;
using Node = WatchTree::Node;

namespace {

/// A move's two events follow each other, but not in one step: how long the second is waited for.
constexpr int kMoveGraceMs = 10;
constexpr std::size_t kFlushBytes = 64 << 10;

/// Names that an upload or a removal uses for a moment.
bool is_temporary(std::string_view name) {
  constexpr std::size_t kSuffix = 16;
  for (std::string_view prefix : {".harena-upload-", ".harena-remove-"}) {
    if (name.starts_with(prefix) && name.size() == prefix.size() + kSuffix) return true;
  }
  return false;
}

struct Change {
  int wd;
  unsigned mask;
  unsigned cookie;
  std::string name;
  bool is_dir() const { return (mask & IN_ISDIR) != 0; }
};

/// The first half of a move.
struct Departure {
  unsigned cookie;
  /// A number and not a Node: the folder may be gone before this is settled.
  int from;
  std::string name;
  bool is_dir;
};

class FolderWatch {
 public:
  FolderWatch(const FileTree& tree, WatchTree watches, WorkerChannel& channel, const session::FileWatchRequest& request)
      : tree_(tree), watches_(std::move(watches)), channel_(channel), request_(request) {}

  Status run() {
    HARENA_TRY_STATUS(watch_root());
    session::append_message(out_, session::FrameType::ready, {});
    ready_ = true;
    for (auto& event : std::exchange(early_, {})) HARENA_TRY_STATUS(emit(std::move(event)));
    while (!gone_) HARENA_TRY_STATUS(turn());
    return flush();
  }

 private:
  enum class Report { nothing, all };

  /// No descriptor of the root is kept: one would keep the folder alive, and its end from being noticed.
  Status watch_root() {
    HARENA_TRY(auto root, tree_.find(request_.path, Links::follow));
    if (::fstat(root.get(), &root_info_) != 0) return file_error(errno, "stat of '" + request_.path + "'");
    if (!S_ISDIR(root_info_.st_mode)) return not_a_folder(request_.path);
    HARENA_TRY_STATUS(watches_.watch_root(root.get()));
    return request_.recursive ? scan(watches_.root(), root.get(), Report::nothing) : ok_status();
  }

  /// Nothing when the path means something else by now: then an event that ends this is on its way.
  UniqueFd open_root() const {
    auto root = tree_.find(request_.path, Links::follow);
    struct stat info{};
    if (!root || ::fstat(root->get(), &info) != 0) return {};
    bool same = info.st_ino == root_info_.st_ino && info.st_dev == root_info_.st_dev;
    return same ? *std::move(root) : UniqueFd();
  }

  Status turn() {
    HARENA_TRY_STATUS(flush());
    auto waited = channel_.wait_for(watches_.fd(), 0);
    if (waited == WorkerChannel::Wait::timeout) {
      // Empty: the events behind every scan have passed.
      watches_.clear_reported();
      waited = channel_.wait_for(watches_.fd(), departures_.empty() ? -1 : kMoveGraceMs);
    }
    if (waited == WorkerChannel::Wait::left) return make_error(ErrorCode::unavailable, "the client has left");
    if (waited == WorkerChannel::Wait::timeout) return settle_departures();
    HARENA_TRY(auto changes, read_changes());
    for (const auto& change : changes) {
      HARENA_TRY_STATUS(take(change));
      if (gone_) return {};
      if (lost_) return resync();
    }
    return {};
  }

  Result<std::vector<Change>> read_changes() {
    alignas(inotify_event) std::array<char, 64 << 10> buffer;
    auto got = ::read(watches_.fd(), buffer.data(), buffer.size());
    std::vector<Change> changes;
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return changes;
    if (got < 0) return file_error(errno, "reading what happened");
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
      inotify_event event;
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const char* name = buffer.data() + at + sizeof event;
      changes.push_back({event.wd, event.mask, event.cookie, event.len > 0 ? std::string(name) : std::string()});
      at += sizeof event + event.len;
    }
    return changes;
  }

  Status take(const Change& change) {
    if ((change.mask & IN_Q_OVERFLOW) != 0) return lost_ = true, ok_status();
    Node* node = watches_.find(change.wd);
    if (node == nullptr || (change.mask & IN_IGNORED) != 0) return {};
    if (node == &watches_.root() && (change.mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) != 0) return end();
    if (change.name.empty()) return {};
    if ((change.mask & IN_MOVED_TO) != 0) return arrive(*node, change);
    HARENA_TRY_STATUS(settle_departures(node->wd, change.name));
    // In a folder that has left: not of this tree any more.
    if (is_departed(*node)) {
      HARENA_TRY_STATUS(settle_departures());
      return {};
    }
    if ((change.mask & IN_MOVED_FROM) != 0) {
      departures_.push_back({change.cookie, node->wd, change.name, change.is_dir()});
      return {};
    }
    if (is_temporary(change.name)) return {};
    if ((change.mask & IN_CREATE) != 0) return appear(*node, change);
    if ((change.mask & IN_DELETE) != 0) return vanish(*node, change.name, change.is_dir());
    if ((change.mask & IN_MODIFY) != 0) return emit(FileEventKind::write, WatchTree::path_of(*node, change.name), false);
    HARENA_TRY_STATUS(emit(FileEventKind::attrib, WatchTree::path_of(*node, change.name), change.is_dir()));
    // It may be readable now.
    bool unwatched = change.is_dir() && request_.recursive && !node->children.contains(change.name);
    return unwatched ? adopt(*node, change.name, Report::all) : ok_status();
  }

  Status end() {
    gone_ = true;
    return emit(FileEventKind::remove, "", true);
  }

  Status appear(Node& node, const Change& change) {
    // A scan was here first.
    if (node.reported.erase(change.name) != 0) return {};
    HARENA_TRY_STATUS(emit(FileEventKind::create, WatchTree::path_of(node, change.name), change.is_dir()));
    if (change.is_dir() && request_.recursive) return adopt(node, change.name, Report::all);
    return {};
  }

  Status vanish(Node& node, const std::string& name, bool is_dir) {
    node.reported.erase(name);
    watches_.drop(node, name);
    if (is_temporary(name)) return {};
    return emit(FileEventKind::remove, WatchTree::path_of(node, name), is_dir);
  }

  Status arrive(Node& node, const Change& change) {
    for (auto it = departures_.begin(); it != departures_.end(); ++it) {
      if (it->cookie != change.cookie) continue;
      auto departure = std::move(*it);
      departures_.erase(it);
      Node* from = watches_.find(departure.from);
      return from != nullptr ? rename(departure, *from, node, change.name) : appear(node, change);
    }
    HARENA_TRY_STATUS(settle_departures(node.wd, change.name));
    return appear(node, change);
  }

  Status rename(const Departure& departure, Node& from, Node& to, const std::string& name) {
    from.reported.erase(departure.name);
    if (is_temporary(name)) return vanish(from, departure.name, departure.is_dir);
    auto path = WatchTree::path_of(to, name);
    if (is_temporary(departure.name)) {
      // An upload took its place.
      to.reported.erase(name);
      HARENA_TRY_STATUS(emit(FileEventKind::create, path, departure.is_dir));
      return departure.is_dir ? ok_status() : emit(FileEventKind::write, path, false);
    }
    if (to.reported.erase(name) != 0) return vanish(from, departure.name, departure.is_dir);
    session::FileEvent event{FileEventKind::rename, WatchTree::path_of(from, departure.name), path, departure.is_dir};
    HARENA_TRY_STATUS(emit(event));
    if (!departure.is_dir || !request_.recursive) return {};
    Node* moved = watches_.move(from, departure.name, to, name);
    if (moved == nullptr) return adopt(to, name, Report::all);
    auto folder = open_below(path);
    // Another folder by now: which one the events meant can't be told any more.
    if (folder && !watches_.is_same(*moved, folder.get())) lost_ = true;
    return {};
  }

  bool is_departed(const Node& node) const {
    for (const Node* at = &node; at->parent != nullptr; at = at->parent) {
      for (const auto& departure : departures_) {
        if (departure.from == at->parent->wd && departure.name == at->name) return true;
      }
    }
    return false;
  }

  /// Those whose second half doesn't come: removed, as far as this tree goes. All, or those of one name that something else
  /// has happened to since.
  Status settle_departures(int wd = -1, const std::string& name = {}) {
    auto all = std::exchange(departures_, {});
    for (auto& departure : all) {
      if (wd >= 0 && (departure.from != wd || departure.name != name)) {
        departures_.push_back(std::move(departure));
        continue;
      }
      Node* from = watches_.find(departure.from);
      if (from != nullptr) HARENA_TRY_STATUS(vanish(*from, departure.name, departure.is_dir));
    }
    return {};
  }

  /// Without symlinks on the way; nothing when it isn't there any more.
  UniqueFd open_below(const std::string& path) const {
    auto root = open_root();
    open_how how{};
    how.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    UniqueFd found(static_cast<int>(::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how)));
    // Closing the root may change what the caller asks errno for.
    int number = errno;
    root.reset();
    errno = number;
    return found;
  }

  Status adopt(Node& parent, const std::string& name, Report report) {
    auto path = WatchTree::path_of(parent, name);
    auto folder = open_below(path);
    if (folder) return watch(parent, name, folder.get(), report);
    bool unreadable = errno == EACCES || errno == EPERM || errno == ENAMETOOLONG;
    return unreadable ? emit(FileEventKind::unwatched, path, true) : ok_status();
  }

  Status watch(Node& parent, const std::string& name, int folder, Report report) {
    auto added = watches_.watch_child(parent, name, folder);
    if (!added && added.error().code == ErrorCode::permission_denied) {
      return emit(FileEventKind::unwatched, WatchTree::path_of(parent, name), true);
    }
    HARENA_TRY_STATUS(added);
    if (*added == WatchTree::Added::elsewhere && report == Report::all) lost_ = true;
    if (*added != WatchTree::Added::fresh) return {};
    return scan(*parent.children[name], folder, report);
  }

  /// Behind the watch: what isn't listed here comes as an event.
  Status scan(Node& node, int folder, Report report) {
    HARENA_TRY(auto names, folder_names(folder, WatchTree::path_of(node)));
    for (const auto& name : names) HARENA_TRY_STATUS(meet(node, folder, name, report));
    return {};
  }

  Status meet(Node& node, int folder, const std::string& name, Report report) {
    struct stat info{};
    if (is_temporary(name) || ::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return {};
    bool is_dir = S_ISDIR(info.st_mode);
    auto path = WatchTree::path_of(node, name);
    if (report == Report::all) {
      watches_.note_reported(node, name);
      HARENA_TRY_STATUS(emit(FileEventKind::create, path, is_dir));
      if (S_ISREG(info.st_mode) && info.st_size > 0) HARENA_TRY_STATUS(emit(FileEventKind::write, path, false));
    }
    if (!is_dir || !request_.recursive) return {};
    if (path.size() + request_.path.size() + 3 > session::kMaxPathBytes) return emit(FileEventKind::unwatched, path, true);
    UniqueFd inside(::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (inside && is_made_up(inside.get())) return {};
    if (inside) return watch(node, name, inside.get(), report);
    return errno == EACCES || errno == EPERM ? emit(FileEventKind::unwatched, path, true) : ok_status();
  }

  /// The queue is void; everything is watched anew before the client is told to list.
  Status resync() {
    lost_ = false;
    departures_.clear();
    for (;;) {
      HARENA_TRY(auto stale, read_changes());
      if (stale.empty()) break;
      for (const auto& change : stale) {
        if (change.wd == watches_.root().wd && (change.mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) != 0) gone_ = true;
      }
    }
    auto old = watches_.forget_all();
    auto root = open_root();
    if (root && request_.recursive) HARENA_TRY_STATUS(scan(watches_.root(), root.get(), Report::nothing));
    watches_.unwatch(old);
    HARENA_TRY_STATUS(emit(FileEventKind::overflow, "", false));
    return gone_ ? end() : ok_status();
  }

  Status emit(FileEventKind kind, std::string path, bool is_dir) { return emit({kind, std::move(path), {}, is_dir}); }

  Status emit(session::FileEvent event) {
    if (!ready_) return early_.push_back(std::move(event)), ok_status();
    // Writes come in hundreds; one says as much.
    if (event.kind == FileEventKind::write && event == last_) return {};
    session::append_message(out_, session::FrameType::file_event, session::encode(event));
    last_ = std::move(event);
    return out_.size() > kFlushBytes ? flush() : ok_status();
  }

  Status flush() {
    bool sent = out_.empty() || channel_.send_frames(out_);
    out_.clear();
    last_ = {};
    return sent ? ok_status() : make_error(ErrorCode::unavailable, "the client has left");
  }

  const FileTree& tree_;
  WatchTree watches_;
  WorkerChannel& channel_;
  const session::FileWatchRequest& request_;
  struct stat root_info_{};
  std::vector<Departure> departures_;
  /// Found before all was watched; sent behind `ready`.
  std::vector<session::FileEvent> early_;
  std::string out_;
  session::FileEvent last_;
  bool ready_ = false;
  bool lost_ = false;
  bool gone_ = false;
};

}  // namespace

Result<std::string> watch_files(const FileTree& tree, WorkerChannel& channel, const session::FileWatchRequest& request) {
  HARENA_TRY(auto watches, WatchTree::create(tree));
  FolderWatch watch(tree, std::move(watches), channel, request);
  HARENA_TRY_STATUS(watch.run());
  return std::string();
}

}  // namespace harena::shim
