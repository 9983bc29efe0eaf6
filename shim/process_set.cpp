#include "shim/process_set.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace harena::shim {
namespace {

/// Descriptors held at once while signalling.
constexpr std::size_t kBatch = 256;

std::vector<pid_t> read_members(int leaf) {
  UniqueFd fd(::openat(leaf, "cgroup.procs", O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[8192];
  for (ssize_t got; fd && (got = ::read(fd.get(), buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(got));
  std::vector<pid_t> pids;
  for (const char* at = text.c_str(); *at != '\0';) {
    char* end = nullptr;
    pids.push_back(static_cast<pid_t>(std::strtol(at, &end, 10)));
    at = *end == '\n' ? end + 1 : end + std::strlen(end);
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

int open_pid(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }
void signal_pidfd(int fd, int signal) { ::syscall(SYS_pidfd_send_signal, fd, signal, nullptr, 0); }

/// Whether the process has the mark. Needs its user id or CAP_SYS_RESOURCE.
bool is_marked(pid_t pid, std::uint64_t mark) {
  rlimit limit{};
  return ::prlimit(pid, RLIMIT_RTTIME, nullptr, &limit) == 0 && limit.rlim_max == mark;
}

/// A process that was waited for no more counts for nothing.
bool is_zombie(int proc, const char* pid) {
  UniqueFd fd(::openat(proc, (std::string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  std::string text = fd ? read_small_file(fd.get()) : "";
  auto end = text.rfind(')');
  return end == std::string::npos || end + 2 >= text.size() || text[end + 2] == 'Z' || text[end + 2] == 'X';
}

}  // namespace

void put_mark(std::uint64_t mark) {
  rlimit limit{mark, mark};
  ::setrlimit(RLIMIT_RTTIME, &limit);
}

LeafPool::~LeafPool() {
  for (const auto& leaf : kept_) remove(leaf);
}

Result<Leaf> LeafPool::take() {
  if (!kept_.empty()) {
    Leaf leaf = std::move(kept_.back());
    kept_.pop_back();
    return leaf;
  }
  Leaf leaf;
  leaf.name = "cmd-" + std::to_string(++made_);
  int parent = sandbox_.cgroup_fd();
  if (::mkdirat(parent, leaf.name.c_str(), 0755) != 0 && errno != EEXIST) {
    return infrastructure_error(ErrorCode::internal, "cgroup", errno_error(errno, "making cgroup '" + leaf.name + "'").message);
  }
  leaf.folder = UniqueFd(::openat(parent, leaf.name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (leaf.folder) leaf.events = UniqueFd(::openat(leaf.folder.get(), "cgroup.events", O_RDONLY | O_CLOEXEC));
  if (leaf.events) return leaf;
  auto error = infrastructure_error(ErrorCode::internal, "cgroup", errno_error(errno, "opening cgroup '" + leaf.name + "'").message);
  remove(leaf);
  return error;
}

void LeafPool::put_back(Leaf leaf) {
  if (kept_.size() >= kMaxKept) return remove(leaf);
  kept_.push_back(std::move(leaf));
}

void LeafPool::remove(const Leaf& leaf) const { ::unlinkat(sandbox_.cgroup_fd(), leaf.name.c_str(), AT_REMOVEDIR); }

Result<ProcessSet> ProcessSet::create(LeafPool& pool, std::uint64_t mark) {
  ProcessSet set;
  set.pool_ = &pool;
  set.mark_ = mark;
  if (pool.sandbox().has_cgroup()) {
    HARENA_TRY(set.leaf_, pool.take());
  } else {
    set.proc_ = pool.sandbox().host_proc_fd();
  }
  return set;
}

ProcessSet& ProcessSet::operator=(ProcessSet&& other) noexcept {
  (void)release();
  pool_ = other.pool_;
  proc_ = other.proc_;
  leaf_ = std::move(other.leaf_);
  mark_ = other.mark_;
  return *this;
}

ProcessSet::~ProcessSet() { (void)release(); }

void ProcessSet::write_control(const char* file, const char* text) const {
  UniqueFd fd(::openat(leaf_.folder.get(), file, O_WRONLY | O_CLOEXEC));
  if (fd) (void)!::write(fd.get(), text, std::strlen(text));
}

bool ProcessSet::empty() const {
  if (leaf_.folder) return flat_value(read_small_file(leaf_.events.get()), "populated") == 0;
  bool any = false;
  signal_marked(0, any);
  return !any;
}

void ProcessSet::signal_members(int signal) const {
  auto pids = read_members(leaf_.folder.get());
  for (std::size_t from = 0; from < pids.size(); from += kBatch) {
    std::vector<std::pair<pid_t, UniqueFd>> held;
    for (std::size_t i = from; i < std::min(from + kBatch, pids.size()); ++i) held.emplace_back(pids[i], open_pid(pids[i]));
    // Who is still listed after its descriptor was opened is the one the descriptor means (a number may be reused).
    auto still = read_members(leaf_.folder.get());
    for (const auto& [pid, fd] : held) {
      if (fd && std::binary_search(still.begin(), still.end(), pid)) signal_pidfd(fd.get(), signal);
    }
  }
}

void ProcessSet::signal_marked(int signal, bool& any) const {
  UniqueFd list(::openat(proc_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(list.release()), &::closedir);
  while (auto* entry = dir ? ::readdir(dir.get()) : nullptr) {
    auto pid = static_cast<pid_t>(std::atoi(entry->d_name));
    if (pid <= 0 || !is_marked(pid, mark_) || is_zombie(proc_, entry->d_name)) continue;
    any = true;
    UniqueFd fd(open_pid(pid));
    if (signal != 0 && fd && is_marked(pid, mark_)) signal_pidfd(fd.get(), signal);
  }
}

void ProcessSet::signal_all(int signal) {
  bool any = false;
  if (leaf_.folder) return signal_members(signal);
  signal_marked(signal, any);
}

void ProcessSet::kill_round() {
  if (!leaf_.folder) return signal_all(SIGKILL);
  write_control("cgroup.freeze", "1");
  signal_members(SIGKILL);
  write_control("cgroup.freeze", "0");
}

bool ProcessSet::release() {
  if (!leaf_.folder) return true;
  if (!empty()) return false;
  pool_->put_back(std::exchange(leaf_, {}));
  return true;
}

}  // namespace harena::shim
