// CgroupTree: other limits for a sandbox that lives.

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "sdk/support/cgroup_resize.hpp"
#include "sdk/support/cgroup_tree.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/process.hpp"

namespace harena {
namespace {

/// Stands still while it is being changed; goes on as it was before.
class FrozenFor {
 public:
  static Result<FrozenFor> make(const CgroupGroup& group, std::int64_t deadline_ns) {
    HARENA_TRY(const bool frozen, group.frozen());
    if (!frozen) HARENA_TRY_STATUS(group.freeze(deadline_ns));
    return FrozenFor(frozen ? nullptr : &group, deadline_ns);
  }
  FrozenFor(FrozenFor&& other) noexcept : group_(std::exchange(other.group_, nullptr)), deadline_ns_(other.deadline_ns_) {}
  FrozenFor& operator=(FrozenFor&&) = delete;
  ~FrozenFor() {
    if (group_ != nullptr) (void)group_->thaw(deadline_ns_);
  }

 private:
  FrozenFor(const CgroupGroup* group, std::int64_t deadline_ns) : group_(group), deadline_ns_(deadline_ns) {}
  const CgroupGroup* group_;
  std::int64_t deadline_ns_;
};

Result<std::set<pid_t>> members_of(int group) {
  HARENA_TRY(const auto text, read_file_at(group, "cgroup.procs"));
  std::set<pid_t> pids;
  for (const char* at = text.c_str(); *at != '\0'; ++at) {
    char* end = nullptr;
    pids.insert(static_cast<pid_t>(std::strtol(at, &end, 10)));
    at = end;
    if (*at == '\0') break;
  }
  return pids;
}

/// How many of `pids` had to be moved. One that has ended meanwhile is none.
Result<int> move_into(int group, const std::vector<pid_t>& pids) {
  HARENA_TRY(const auto inside, members_of(group));
  int moved = 0;
  for (pid_t pid : pids) {
    if (inside.count(pid) != 0) continue;
    const Status done = write_file_at(group, "cgroup.procs", std::to_string(pid));
    if (!done.ok() && done.error().code != ErrorCode::not_found) return done.error();
    ++moved;
  }
  return moved;
}

}  // namespace

bool CgroupTree::lacks_group(const Hierarchy& hierarchy, const std::string& name, const CgroupLimits& limits) const {
  if (hierarchy.wanted == nullptr || !hierarchy.wanted(limits)) return false;
  return ::faccessat(hierarchy.instance.get(), name.c_str(), F_OK, 0) != 0;
}

/// Its shim too, whose children are the commands to come: it was told of no such group when it began. First the shim's group, then the
/// sandbox's: what is on its way from the one to the other is met in one of them.
Status CgroupTree::fill_late_group(const std::string& name, int group) const {
  for (int rounds = 0; rounds < 100; ++rounds) {
    int moved = 0;
    for (const int above : {v2_platform_.get(), v2_instance_.get()}) {
      auto members = CgroupGroup::open(above, group_name(name));
      if (!members.ok()) continue;
      HARENA_TRY(const auto pids, members->processes());
      HARENA_TRY(const int here, move_into(group, pids));
      moved += here;
    }
    if (moved == 0) return {};
  }
  return make_error(ErrorCode::unavailable, "the processes of '" + name + "' can't be moved into a group: there are always more");
}

Status CgroupTree::make_late_group(const Hierarchy& hierarchy, const std::string& name, const CgroupLimits& before,
                                   const CgroupLimits& after) const {
  if (::mkdirat(hierarchy.instance.get(), name.c_str(), 0755) != 0 && errno != EEXIST) return errno_error(errno, "make v1 cgroup " + name);
  HARENA_TRY(UniqueFd group, open_directory(hierarchy.instance.get(), name));
  for (const auto& step : resize_steps()) {
    if (hierarchy.controllers.count(v1_controller_name(controller_of_limit(step))) == 0) continue;
    if (step_changes(step, before, after)) HARENA_TRY_STATUS(change_v1_limit(step, group.get(), before, after));
  }
  return fill_late_group(name, group.get());
}

Status CgroupTree::change_limit(const std::string& step, const std::string& name, const CgroupLimits& before,
                                const CgroupLimits& after) const {
  const bool wanted = wants_limit(after, step);
  for (const auto* reasons : {&unavailable_, &after.impossible}) {
    const auto why = reasons->find(step);
    // What was never set needn't be taken away.
    if (why != reasons->end()) return wanted ? Status(make_error(ErrorCode::failed_precondition, why->second)) : Status();
  }
  if (const auto why = unavailable_.find("swap"); step == "memory" && why != unavailable_.end() && before.swap_bytes != after.swap_bytes) {
    return make_error(ErrorCode::failed_precondition, "swap: " + why->second);
  }
  const std::string controller = controller_of_limit(step);
  if (v2_enabled_.count(controller) != 0) {
    HARENA_TRY(UniqueFd group, open_directory(v2_instance_.get(), group_name(name)));
    return change_v2_limit(step, group.get(), before, after);
  }
  const Hierarchy& hierarchy = *v1(v1_controller_name(controller));
  if (lacks_group(hierarchy, name, after)) return make_late_group(hierarchy, name, before, after);
  auto group = open_directory(hierarchy.instance.get(), name);
  if (!group.ok()) return !wanted && group.error().code == ErrorCode::not_found ? Status() : Status(std::move(group).error());
  return change_v1_limit(step, group->get(), before, after);
}

/// Without looking at errors: what can't be put back now is put back by whoever asks next.
void CgroupTree::put_back(const std::vector<std::string>& steps, const std::string& name, const CgroupLimits& before,
                          const CgroupLimits& after) const {
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) (void)change_limit(*step, name, after, before);
}

Result<std::vector<std::string>> CgroupTree::resize_sandbox(const std::string& name, const CgroupLimits& before, const CgroupLimits& after,
                                                            const std::set<std::string>& allow_missing, std::int64_t deadline_ns) const {
  HARENA_TRY(auto group, open_sandbox(name));
  HARENA_TRY(const auto frozen, FrozenFor::make(group, deadline_ns));
  std::vector<std::string> done, missing;
  for (const auto& step : resize_steps()) {
    if (!step_changes(step, before, after)) continue;
    Status changed = change_limit(step, name, before, after);
    done.push_back(step);
    fault_point("resize." + step);
    if (changed.ok()) continue;
    const bool used_up = changed.error().cause == Cause::limit;
    if (!used_up && allow_missing.count(step) != 0) {
      missing.push_back(step);
      continue;
    }
    put_back(done, name, before, after);
    if (used_up) return std::move(changed).error();
    return infrastructure_error(ErrorCode::failed_precondition, "cgroup",
                                "the limit '" + step + "' can't be changed on this host: " + changed.error().message);
  }
  return missing;
}

/// What a member forked before it was moved is met in the next round; one that is just ending is gone in a moment, of which nobody tells.
Status CgroupTree::remove_late_group(const Hierarchy& hierarchy, const std::string& name, std::int64_t deadline_ns) const {
  while (true) {
    HARENA_TRY(UniqueFd group, open_directory(hierarchy.instance.get(), name));
    HARENA_TRY(const auto pids, members_of(group.get()));
    HARENA_TRY(const int moved, move_into(hierarchy.root.get(), {pids.begin(), pids.end()}));
    group.reset();
    Status removed = remove_cgroup(hierarchy.instance.get(), name);
    if (removed.ok() || monotonic_now_ns() >= deadline_ns) return removed;
    if (moved == 0) ::poll(nullptr, 0, 1);
  }
}

}  // namespace harena
