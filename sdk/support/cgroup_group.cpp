#include "sdk/support/cgroup_group.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <set>

#include "sdk/base/text.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/process.hpp"

namespace harena {
namespace {

/// How long a group may still count processes that have all ended: the kernel lets go of some of them a little later.
constexpr std::int64_t kLetGoNs = 1'000'000'000;

Status collect_processes(int group, std::vector<pid_t>& pids) {
  HARENA_TRY(auto text, read_file_at(group, "cgroup.procs", 16 << 20));
  for (const auto& line : split(text, '\n')) {
    auto pid = parse_int(line, 1, INT32_MAX, "pid");
    if (pid.ok()) pids.push_back(static_cast<pid_t>(*pid));
  }
  return {};
}

struct DirectoryClose {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

/// A group has some 40 files, and this is asked several times in a stop: the kernel says what is a folder, without a stat of each.
Result<std::vector<std::string>> groups_below(int group) {
  HARENA_TRY(UniqueFd again, open_directory(group, "."));
  std::unique_ptr<DIR, DirectoryClose> directory(::fdopendir(again.get()));
  if (!directory) return errno_error(errno, "list a cgroup");
  (void)again.release();  // the DIR has it
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

}  // namespace

Result<std::int64_t> cgroup_stat(const std::string& text, const std::string& key) {
  for (const auto& line : split(text, '\n')) {
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == ' ') {
      return parse_int(std::string_view(line).substr(key.size() + 1), INT64_MIN, INT64_MAX, key);
    }
  }
  return make_error(ErrorCode::not_found, "no '" + key + "' in a cgroup file");
}

Result<CgroupGroup> CgroupGroup::open(int parent, const std::string& name) {
  HARENA_TRY(UniqueFd fd, open_directory(parent, name));
  return CgroupGroup(std::move(fd));
}

Result<CgroupGroup> CgroupGroup::make(int parent, const std::string& name) {
  if (::mkdirat(parent, name.c_str(), 0755) != 0) return errno_error(errno, "make cgroup " + name);
  return open(parent, name);
}

Result<std::vector<pid_t>> CgroupGroup::processes() const {
  std::vector<pid_t> pids;
  HARENA_TRY_STATUS(collect_processes(fd_.get(), pids));
  HARENA_TRY(auto names, groups_below(fd_.get()));
  for (const auto& name : names) {
    auto below = open(fd_.get(), name);
    if (!below.ok()) continue;  // removed in between
    auto more = below->processes();
    if (more.ok()) pids.insert(pids.end(), more->begin(), more->end());
  }
  return pids;
}

Result<bool> CgroupGroup::populated() const {
  HARENA_TRY(auto text, read_file_at(fd_.get(), "cgroup.events"));
  HARENA_TRY(auto value, cgroup_stat(text, "populated"));
  return value != 0;
}

Result<bool> CgroupGroup::frozen() const {
  HARENA_TRY(auto text, read_file_at(fd_.get(), "cgroup.events"));
  HARENA_TRY(auto value, cgroup_stat(text, "frozen"));
  return value != 0;
}

Status CgroupGroup::wait_event(const std::string& key, std::int64_t value, std::int64_t deadline_ns) const {
  UniqueFd events(::openat(fd_.get(), "cgroup.events", O_RDONLY | O_CLOEXEC));
  if (!events) return errno_error(errno, "open cgroup.events");
  while (true) {
    // kernfs wakes poll(2) with POLLPRI when the file has changed since this descriptor last read it.
    char text[256];
    const ssize_t got = ::pread(events.get(), text, sizeof text, 0);
    if (got < 0) return errno_error(errno, "read cgroup.events");
    HARENA_TRY(auto now, cgroup_stat(std::string(text, static_cast<std::size_t>(got)), key));
    if (now == value) return {};
    pollfd watched{events.get(), POLLPRI, 0};
    const int ready = ::poll(&watched, 1, poll_timeout_ms(deadline_ns));
    if (ready == 0) {
      return make_error(ErrorCode::deadline_exceeded, "the cgroup didn't become " + key + "=" + std::to_string(value) + " in time");
    }
  }
}

Status CgroupGroup::freeze(std::int64_t deadline_ns) const {
  HARENA_TRY_STATUS(write_file_at(fd_.get(), "cgroup.freeze", "1"));
  auto status = wait_event("frozen", 1, deadline_ns);
  if (!status.ok()) (void)write_file_at(fd_.get(), "cgroup.freeze", "0");
  return status;
}

Status CgroupGroup::thaw(std::int64_t deadline_ns) const {
  HARENA_TRY_STATUS(write_file_at(fd_.get(), "cgroup.freeze", "0"));
  return wait_event("frozen", 0, deadline_ns);
}

Status CgroupGroup::wait_empty(std::int64_t deadline_ns) const { return wait_event("populated", 0, deadline_ns); }

Result<std::vector<UniqueFd>> CgroupGroup::hold_processes() const {
  HARENA_TRY(auto listed, processes());
  std::vector<std::pair<pid_t, UniqueFd>> opened;
  for (pid_t pid : listed) {
    UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (fd) opened.emplace_back(pid, std::move(fd));
  }
  // Only what is still listed now that it is held by descriptor: a pid that ended in between may be another's.
  HARENA_TRY(auto now, processes());
  const std::set<pid_t> still(now.begin(), now.end());
  std::vector<UniqueFd> held;
  for (auto& [pid, fd] : opened) {
    if (still.count(pid) != 0) held.push_back(std::move(fd));
  }
  return held;
}

Result<bool> CgroupGroup::kill_each(std::int64_t deadline_ns) const {
  HARENA_TRY(auto held, hold_processes());
  for (const auto& process : held) HARENA_TRY_STATUS(signal_process(process.get(), SIGKILL));
  for (const auto& process : held) {
    if (wait_process_end(process.get(), deadline_ns)) continue;
    return make_error(ErrorCode::deadline_exceeded, "a process of the cgroup sits in the kernel and can't be killed");
  }
  return !held.empty();
}

Status CgroupGroup::kill_all(std::int64_t deadline_ns) const {
  bool frozen = false;
  Status outcome;
  while (outcome.ok()) {
    HARENA_TRY(bool alive, populated());
    if (!alive) return {};
    HARENA_TRY(auto listed, processes());
    // From the write on, a fork returns without a child, and who was born meanwhile is born frozen. One process alone is caught
    // without that, or found again with its children in the next round.
    if (!frozen && listed.size() != 1) {
      HARENA_TRY_STATUS(write_file_at(fd_.get(), "cgroup.freeze", "1"));
      frozen = true;
    }
    // Waits for the processes, not for cgroup.events: the kernel tells of an event only every 10 ms.
    auto any = kill_each(deadline_ns);
    if (!any.ok()) {
      outcome = std::move(any).error();
    } else if (!*any) {
      outcome = wait_empty(std::min(deadline_ns, monotonic_now_ns() + kLetGoNs));
      if (!outcome.ok() && monotonic_now_ns() < deadline_ns) outcome = {};
    }
  }
  if (frozen) (void)write_file_at(fd_.get(), "cgroup.freeze", "0");
  return outcome;
}

Status remove_cgroup(int parent, const std::string& name) {
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  const int first_error = errno;
  auto group = open_directory(parent, name);
  if (!group.ok()) return errno_error(first_error, "remove cgroup " + name);
  HARENA_TRY(auto names, groups_below(group->get()));
  for (const auto& below : names) HARENA_TRY_STATUS(remove_cgroup(group->get(), below));
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  return errno_error(errno, "remove cgroup " + name);
}

}  // namespace harena
