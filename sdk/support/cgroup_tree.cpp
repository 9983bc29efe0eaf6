#include "sdk/support/cgroup_tree.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>

#include "sdk/base/text.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/process.hpp"

namespace harena {
namespace {

constexpr const char* kPlatform = "platform";
/// cpu.weight of v2.
constexpr const char* kMostWeight = "10000";
/// Controllers that limits stand on, as v2 calls them.
constexpr const char* kControllers[] = {"cpu", "memory", "pids", "cpuset", "io"};

/// Hierarchies that only some sandboxes need; two controllers that share one are needed by all.
bool (*needed_by(const std::set<std::string>& controllers))(const CgroupLimits&) {
  if (controllers.size() != 1) return nullptr;
  const std::string& only = *controllers.begin();
  if (only == "cpuset") return [](const CgroupLimits& limits) { return !limits.cpuset.empty(); };
  if (only == "blkio") return [](const CgroupLimits& limits) { return limits.io_weight != 0 || limits.io.wanted(); };
  if (only == "cpuacct") return [](const CgroupLimits& limits) { return limits.account_cpu; };
  return nullptr;
}

/// A new v1 group has no CPUs and no memory nodes: those of its parent, as far as it has none.
Status inherit_cpuset(int group) {
  for (const char* file : {"cpuset.cpus", "cpuset.mems"}) {
    HARENA_TRY(auto own, read_file_at(group, file));
    if (own.find_first_not_of('\n') != std::string::npos) continue;
    HARENA_TRY(auto parents, read_file_at(group, std::string("../") + file));
    HARENA_TRY_STATUS(write_file_at(group, file, parents));
  }
  return {};
}

Status check_component(const std::string& name) {
  const bool good = !name.empty() && name.size() <= 128 && name != "." && name != ".." &&
                    name.find_first_of("/\n") == std::string::npos;
  if (good) return {};
  return make_error(ErrorCode::invalid_argument, "'" + name + "' can't be the name of a cgroup: one path component of 1 to 128 characters");
}

Result<std::set<std::string>> directories(int at) {
  HARENA_TRY(auto names, list_directory(at, "."));
  std::set<std::string> found;
  for (auto& name : names) {
    struct stat info{};
    if (::fstatat(at, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode)) found.insert(name);
  }
  return found;
}

bool exists(int at, const std::string& path) { return ::faccessat(at, path.c_str(), F_OK, 0) == 0; }

std::optional<std::int64_t> number_in(int group, const std::string& file) {
  auto text = read_file_at(group, file);
  if (!text.ok()) return std::nullopt;
  while (!text->empty() && text->back() == '\n') text->pop_back();
  auto value = parse_int(*text, 0, INT64_MAX, file);
  return value.ok() ? std::optional(*value) : std::nullopt;
}

std::optional<std::int64_t> stat_in(int group, const std::string& file, const std::string& key) {
  auto text = read_file_at(group, file);
  if (!text.ok()) return std::nullopt;
  auto value = cgroup_stat(*text, key);
  return value.ok() ? std::optional(*value) : std::nullopt;
}

std::optional<std::int64_t> times(std::optional<std::int64_t> value, std::int64_t factor) {
  return value ? std::optional(*value * factor) : value;
}

/// On a v2 group that was a blank: the sandbox whose it is. trusted.*: only root of the machine reads or writes it.
constexpr const char* kOwnerAttribute = "trusted.harena.sandbox";

/// What else is to be removed with a group that was or is a blank.
constexpr const char* kNoteAttribute = "trusted.harena.note";

Status write_attribute(const CgroupGroup& group, const char* attribute, const std::string& text) {
  if (::fsetxattr(group.fd(), attribute, text.data(), text.size(), 0) == 0) return {};
  return errno_error(errno, std::string("write the attribute ") + attribute + " of a cgroup");
}

Status write_owner(const CgroupGroup& group, const std::string& owner) { return write_attribute(group, kOwnerAttribute, owner); }

/// Empty: there is none.
std::string attribute_of(int parent, const std::string& name, const char* attribute) {
  auto group = open_directory(parent, name);
  char text[4096];
  const ssize_t length = group.ok() ? ::fgetxattr(group->get(), attribute, text, sizeof text) : -1;
  return length > 0 ? std::string(text, static_cast<std::size_t>(length)) : std::string();
}

/// Empty: nobody's.
std::string owner_of(int parent, const std::string& name) { return attribute_of(parent, name, kOwnerAttribute); }

/// A process that was on its way into the group when the others were killed is killed in the next round.
Status kill_and_remove(int parent, const std::string& name, std::int64_t deadline_ns) {
  while (true) {
    auto group = CgroupGroup::open(parent, name);
    if (!group.ok()) return group.error().code == ErrorCode::not_found ? Status() : Status(std::move(group).error());
    HARENA_TRY_STATUS(group->kill_all(deadline_ns));
    Status removed = remove_cgroup(parent, name);
    const bool busy = !removed.ok() && removed.error().code == ErrorCode::failed_precondition;
    if (!busy || monotonic_now_ns() >= deadline_ns) return removed;
  }
}

}  // namespace

Status CgroupTree::open_v2(UniqueFd& above, const std::string& instance) {
  HARENA_TRY(v2_root_, open_directory(AT_FDCWD, layout_.v2_root));
  HARENA_TRY(above, ensure_directory(v2_root_.get(), parent_, 0755));
  HARENA_TRY(v2_instance_, ensure_directory(above.get(), instance, 0755));
  HARENA_TRY(v2_platform_, ensure_directory(v2_instance_.get(), kPlatform, 0755));
  for (const std::string controller : kControllers) {
    if (layout_.v2_controllers.count(controller) == 0) continue;
    Status enabled;
    for (int level : {v2_root_.get(), above.get(), v2_instance_.get()}) {
      if (enabled.ok()) enabled = write_file_at(level, "cgroup.subtree_control", "+" + controller);
    }
    if (enabled.ok()) {
      v2_enabled_.insert(controller);
    } else {
      enable_errors_[controller] = enabled.error().message;
    }
  }
  // Shims beside any number of sandboxes. In v1 they are outside of the group that all sandboxes share.
  if (v2_enabled_.count("cpu") != 0) (void)write_file_at(v2_platform_.get(), "cpu.weight", kMostWeight);
  return {};
}

Status CgroupTree::open_v1(const std::string& root, const std::set<std::string>& controllers) {
  Hierarchy hierarchy;
  hierarchy.controllers = controllers;
  hierarchy.wanted = needed_by(controllers);
  HARENA_TRY(hierarchy.root, open_directory(AT_FDCWD, root));
  HARENA_TRY(UniqueFd above, ensure_directory(hierarchy.root.get(), parent_, 0755));
  HARENA_TRY(hierarchy.instance, ensure_directory(above.get(), instance_name_, 0755));
  if (controllers.count("cpuset") != 0) {
    HARENA_TRY_STATUS(inherit_cpuset(above.get()));
    HARENA_TRY_STATUS(inherit_cpuset(hierarchy.instance.get()));
  }
  v1_.push_back(std::move(hierarchy));
  return {};
}

Result<CgroupTree> CgroupTree::open(const CgroupLayout& layout, const std::string& parent, const std::string& instance) {
  HARENA_TRY_STATUS(check_component(parent));
  HARENA_TRY_STATUS(check_component(instance));
  CgroupTree tree;
  tree.layout_ = layout;
  tree.parent_ = parent;
  tree.instance_name_ = instance;
  UniqueFd above;
  HARENA_TRY_STATUS(tree.open_v2(above, instance));
  std::map<std::string, std::set<std::string>> by_root;
  for (const auto& [controller, root] : layout.v1_roots) by_root[root].insert(controller);
  for (const auto& [root, controllers] : by_root) HARENA_TRY_STATUS(tree.open_v1(root, controllers));
  tree.unavailable_ = tree.find_unavailable();
  HARENA_TRY_STATUS(tree.read_adoptions());
  return tree;
}

Status CgroupTree::read_adoptions() {
  for (int parent : {v2_instance_.get(), v2_platform_.get()}) {
    HARENA_TRY(auto names, directories(parent));
    for (const auto& name : names) {
      if (std::string owner = owner_of(parent, name); !owner.empty()) adoptions_->blanks[owner] = name;
    }
  }
  return {};
}

std::string CgroupTree::group_name(const std::string& name) const {
  std::lock_guard lock(adoptions_->mutex);
  auto found = adoptions_->blanks.find(name);
  return found == adoptions_->blanks.end() ? name : found->second;
}

std::set<std::string> CgroupTree::sandbox_names(std::set<std::string> groups) const {
  std::lock_guard lock(adoptions_->mutex);
  for (const auto& [owner, blank] : adoptions_->blanks) {
    if (groups.erase(blank) != 0) groups.insert(owner);
  }
  return groups;
}

const CgroupTree::Hierarchy* CgroupTree::v1(const std::string& controller) const {
  for (const auto& hierarchy : v1_) {
    if (hierarchy.controllers.count(controller) != 0) return &hierarchy;
  }
  return nullptr;
}

std::map<std::string, std::string> CgroupTree::find_unavailable() const {
  std::map<std::string, std::string> missing;
  for (const auto& limit : cgroup_limit_names()) {
    const std::string controller = controller_of_limit(limit);
    if (v2_enabled_.count(controller) != 0 || v1(v1_controller_name(controller)) != nullptr) continue;
    auto error = enable_errors_.find(controller);
    missing[limit] = error != enable_errors_.end() ? error->second : "no hierarchy of this host has the controller " + controller;
  }
  const bool v1_memory = missing.count("memory") == 0 && v2_enabled_.count("memory") == 0;
  if (v1_memory && host_has_swap() && !exists(v1("memory")->instance.get(), "memory.memsw.limit_in_bytes")) {
    missing["swap"] = "the kernel doesn't account for swap (boot with swapaccount=1) and the host has swap";
  }
  return missing;
}

Status CgroupTree::set_limit(const std::string& limit, const std::string& name, int group, const CgroupLimits& limits) const {
  for (const auto* reasons : {&unavailable_, &limits.impossible}) {
    if (auto why = reasons->find(limit); why != reasons->end()) return make_error(ErrorCode::failed_precondition, why->second);
  }
  const std::string controller = controller_of_limit(limit);
  if (v2_enabled_.count(controller) != 0) return set_v2_limit(limit, group, limits);
  HARENA_TRY(UniqueFd v1_group, open_directory(v1(v1_controller_name(controller))->instance.get(), name));
  return set_v1_limit(limit, v1_group.get(), limits);
}

Status CgroupTree::set_limits(const std::string& name, const CgroupLimits& limits, const std::set<std::string>& allow_missing,
                              std::vector<std::string>& missing) const {
  HARENA_TRY(UniqueFd group, open_directory(v2_instance_.get(), group_name(name)));
  for (const auto& limit : cgroup_limit_names()) {
    if (!wants_limit(limits, limit)) continue;
    Status set = set_limit(limit, name, group.get(), limits);
    if (set.ok()) continue;
    if (allow_missing.count(limit) != 0) {
      missing.push_back(limit);
      continue;
    }
    return infrastructure_error(ErrorCode::failed_precondition, "cgroup",
                                "the limit '" + limit + "' can't be set on this host: " + set.error().message +
                                    "; the operator may allow sandboxes without it (allow_missing_limits)");
  }
  return {};
}

Result<SandboxGroups> CgroupTree::open_groups(const std::string& name) const {
  SandboxGroups groups;
  HARENA_TRY(groups.v2, open_directory(v2_instance_.get(), group_name(name)));
  for (const auto& hierarchy : v1_) {
    UniqueFd tasks(::openat(hierarchy.instance.get(), (name + "/tasks").c_str(), O_WRONLY | O_CLOEXEC));
    if (!tasks && errno == ENOENT && hierarchy.wanted != nullptr) continue;
    if (!tasks) return errno_error(errno, "open " + name + "/tasks");
    groups.v1_tasks.push_back(std::move(tasks));
  }
  if (v2_enabled_.count("memory") != 0) {
    groups.memory_events.reset(::openat(groups.v2.get(), "memory.events", O_RDONLY | O_CLOEXEC));
  } else if (const Hierarchy* memory = v1("memory")) {
    groups.memory_events.reset(::openat(memory->instance.get(), (name + "/memory.oom_control").c_str(), O_RDONLY | O_CLOEXEC));
  }
  return groups;
}

Status CgroupTree::make_v1_groups(const std::string& name, const CgroupLimits& limits) const {
  for (const auto& hierarchy : v1_) {
    if (hierarchy.wanted != nullptr && !hierarchy.wanted(limits)) continue;
    if (::mkdirat(hierarchy.instance.get(), name.c_str(), 0755) != 0 && errno != EEXIST) {
      return errno_error(errno, "make v1 cgroup " + name);
    }
  }
  return {};
}

Result<SandboxGroups> CgroupTree::make_sandbox(const std::string& name, const CgroupLimits& limits,
                                               const std::set<std::string>& allow_missing) const {
  HARENA_TRY_STATUS(check_component(name));
  if (name == kPlatform) return make_error(ErrorCode::invalid_argument, "a sandbox can't be called 'platform'");
  // The v2 group first: it is the one whose existence says that the name is taken.
  if (::mkdirat(v2_instance_.get(), name.c_str(), 0755) != 0) return errno_error(errno, "make cgroup " + name);
  return equip(name, limits, allow_missing);
}

/// The v1 groups and the limits of a sandbox that has its v2 group.
Result<SandboxGroups> CgroupTree::equip(const std::string& name, const CgroupLimits& limits,
                                        const std::set<std::string>& allow_missing) const {
  std::vector<std::string> missing;
  Status made = make_v1_groups(name, limits);
  if (made.ok()) made = set_limits(name, limits, allow_missing, missing);
  if (made.ok()) {
    auto groups = open_groups(name);
    if (groups.ok()) {
      groups->missing = std::move(missing);
      return groups;
    }
    made = std::move(groups).error();
  }
  (void)remove_sandbox(name, 0);
  return std::move(made).error();
}

Status CgroupTree::note_on_blank(const BlankGroups& blank, const std::string& note) { return write_attribute(blank.sandbox, kNoteAttribute, note); }

std::string CgroupTree::note_of(const std::string& name) const { return attribute_of(v2_instance_.get(), group_name(name), kNoteAttribute); }

Result<BlankGroups> CgroupTree::make_blank(const std::string& name) const {
  HARENA_TRY_STATUS(check_component(name));
  HARENA_TRY(auto sandbox, CgroupGroup::make(v2_instance_.get(), name));
  auto platform = CgroupGroup::make(v2_platform_.get(), name);
  // Now, so that a kernel that can't do it is known before anything is built on it.
  Status marked = platform.ok() ? write_owner(sandbox, "") : Status(std::move(platform).error());
  if (marked.ok()) marked = make_v1_groups(name, CgroupLimits());
  if (marked.ok()) return BlankGroups{std::move(sandbox), *std::move(platform)};
  (void)remove_cgroup(v2_platform_.get(), name);
  (void)remove_sandbox(name, 0);
  return std::move(marked).error();
}

/// In v1 a group may get another name. Where that fails the sandbox gets a new one.
void CgroupTree::adopt_v1_groups(const std::string& blank, const std::string& name) const {
  for (const auto& hierarchy : v1_) {
    if (hierarchy.wanted != nullptr) continue;
    const int at = hierarchy.instance.get();
    if (::renameat(at, blank.c_str(), at, name.c_str()) != 0) (void)remove_cgroup(at, blank);
  }
}

Result<SandboxGroups> CgroupTree::adopt_blank(const std::string& blank, const std::string& name, const CgroupLimits& limits,
                                              const std::set<std::string>& allow_missing) const {
  HARENA_TRY_STATUS(check_component(name));
  HARENA_TRY(auto sandbox, CgroupGroup::open(v2_instance_.get(), blank));
  HARENA_TRY(auto platform, CgroupGroup::open(v2_platform_.get(), blank));
  HARENA_TRY_STATUS(write_owner(sandbox, name));
  {
    std::lock_guard lock(adoptions_->mutex);
    adoptions_->blanks[name] = blank;
  }
  HARENA_TRY_STATUS(write_owner(platform, name));
  adopt_v1_groups(blank, name);
  return equip(name, limits, allow_missing);
}

Result<CgroupGroup> CgroupTree::open_sandbox(const std::string& name) const {
  HARENA_TRY_STATUS(check_component(name));
  return CgroupGroup::open(v2_instance_.get(), group_name(name));
}

Result<std::set<std::string>> CgroupTree::sandboxes() const {
  HARENA_TRY(auto groups, directories(v2_instance_.get()));
  auto names = sandbox_names(std::move(groups));
  for (const auto& hierarchy : v1_) {
    HARENA_TRY(auto more, directories(hierarchy.instance.get()));
    names.merge(more);
  }
  names.erase(kPlatform);
  return names;
}

Status CgroupTree::kill_sandbox(const std::string& name, std::int64_t deadline_ns) const {
  auto group = open_sandbox(name);
  if (!group.ok()) return group.error().code == ErrorCode::not_found ? Status() : Status(std::move(group).error());
  return group->kill_all(deadline_ns);
}

Status CgroupTree::remove_sandbox(const std::string& name, std::int64_t deadline_ns) const {
  HARENA_TRY_STATUS(check_component(name));
  HARENA_TRY_STATUS(kill_and_remove(v2_instance_.get(), group_name(name), deadline_ns));
  for (const auto& hierarchy : v1_) {
    Status removed = remove_cgroup(hierarchy.instance.get(), name);
    if (!removed.ok() && hierarchy.wanted != nullptr) removed = remove_late_group(hierarchy, name, deadline_ns);
    HARENA_TRY_STATUS(removed);
  }
  return {};
}

void CgroupTree::usage_v1(const std::string& name, CgroupUsage& usage) const {
  if (const Hierarchy* cpu = v1("cpu")) {
    auto group = open_directory(cpu->instance.get(), name);
    if (group.ok()) usage.cpu_throttled_ns = stat_in(group->get(), "cpu.stat", "throttled_time");
  }
  if (const Hierarchy* memory = v1("memory")) {
    auto group = open_directory(memory->instance.get(), name);
    if (group.ok()) {
      usage.memory_bytes = number_in(group->get(), "memory.usage_in_bytes");
      usage.memory_peak_bytes = number_in(group->get(), "memory.max_usage_in_bytes");
      usage.oom_kills = stat_in(group->get(), "memory.oom_control", "oom_kill");
    }
  }
  if (const Hierarchy* pids = v1("pids")) {
    auto group = open_directory(pids->instance.get(), name);
    if (group.ok()) usage.pids = number_in(group->get(), "pids.current");
  }
}

Result<CgroupUsage> CgroupTree::usage(const std::string& name) const {
  HARENA_TRY(auto group, open_sandbox(name));
  CgroupUsage usage;
  // cpu.stat counts in every v2 group, also where the cpu controller is a v1 one.
  usage.cpu_ns = times(stat_in(group.fd(), "cpu.stat", "usage_usec"), 1000);
  usage.cpu_throttled_ns = times(stat_in(group.fd(), "cpu.stat", "throttled_usec"), 1000);
  usage.memory_bytes = number_in(group.fd(), "memory.current");
  usage.memory_peak_bytes = number_in(group.fd(), "memory.peak");
  usage.oom_kills = stat_in(group.fd(), "memory.events", "oom_kill");
  usage.pids = number_in(group.fd(), "pids.current");
  usage_v1(name, usage);
  return usage;
}

Result<CgroupGroup> CgroupTree::make_platform(const std::string& name) const {
  HARENA_TRY_STATUS(check_component(name));
  return CgroupGroup::make(v2_platform_.get(), name);
}

Result<CgroupGroup> CgroupTree::open_platform(const std::string& name) const {
  HARENA_TRY_STATUS(check_component(name));
  return CgroupGroup::open(v2_platform_.get(), group_name(name));
}

Result<std::set<std::string>> CgroupTree::platforms() const {
  HARENA_TRY(auto groups, directories(v2_platform_.get()));
  return sandbox_names(std::move(groups));
}

Status CgroupTree::remove_platform(const std::string& name, std::int64_t deadline_ns) const {
  HARENA_TRY_STATUS(check_component(name));
  HARENA_TRY_STATUS(kill_and_remove(v2_platform_.get(), group_name(name), deadline_ns));
  // The last of its groups: the name is nobody's from here on.
  std::lock_guard lock(adoptions_->mutex);
  auto adopted = adoptions_->blanks.find(name);
  if (adopted != adoptions_->blanks.end() && !exists(v2_instance_.get(), adopted->second)) adoptions_->blanks.erase(adopted);
  return {};
}

Result<UniqueFd> CgroupTree::lock() const {
  HARENA_TRY(UniqueFd fd, open_directory(v2_instance_.get(), "."));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  return make_error(ErrorCode::failed_precondition,
                    "the cgroup " + parent_ + "/" + instance_name_ + " is served by another process; give each harenad its own instance name");
}

Result<UniqueFd> CgroupTree::lock_within(std::int64_t patience_ns) const {
  const std::int64_t deadline = monotonic_now_ns() + patience_ns;
  while (true) {
    auto held = lock();
    if (held.ok() || held.error().code != ErrorCode::failed_precondition || monotonic_now_ns() >= deadline) return held;
    ::poll(nullptr, 0, 10);
  }
}

Status CgroupTree::remove_instance() const {
  std::vector<int> roots = {v2_root_.get()};
  for (const auto& hierarchy : v1_) roots.push_back(hierarchy.root.get());
  for (int root : roots) {
    HARENA_TRY(UniqueFd above, open_directory(root, parent_));
    HARENA_TRY_STATUS(remove_cgroup(above.get(), instance_name_));
    (void)::unlinkat(root, parent_.c_str(), AT_REMOVEDIR);  // only when no other instance is left
  }
  return {};
}

}  // namespace harena
