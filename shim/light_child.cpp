#include "shim/light_child.hpp"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mman.h>

#include "shim/light_steps.hpp"
#include "shim/spawn.hpp"

namespace harena::shim {
namespace {

/// Its code has some kilobytes of variables (two masks of CPUs), and no library is called.
constexpr std::size_t kStackBytes = 16 << 10;

/// A sanitizer keeps notes on each thread, which spawner and child would share.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

/// With fs.suid_dumpable = 1 a change of user would open the memory to whoever has that user's rights.
bool stays_closed(int host_proc) {
  UniqueFd file(::openat(host_proc, "sys/fs/suid_dumpable", O_RDONLY | O_CLOEXEC));
  const std::string value = file ? read_small_file(file.get()) : "";
  return value.starts_with("0") || value.starts_with("2");
}

void* make_stacks() {
  constexpr std::size_t kBytes = LightChildren::kSlots * kStackBytes;
  void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  // A command that is made by copy doesn't need them.
  ::madvise(memory, kBytes, MADV_DONTFORK);
  return memory;
}

}  // namespace

LightChildren::LightChildren(const Sandbox& sandbox) : sandbox_(sandbox), entrance_(sandbox.entrance()) {
  // Root of the machine's user namespace could trace such a process, and have the spawner's memory.
  const bool has_users_of_its_own = (entrance_.namespaces & CLONE_NEWUSER) != 0;
  usable_ = !kIsSanitized && has_users_of_its_own && stays_closed(sandbox.host_proc_fd());
  if (usable_) stacks_ = make_stacks();
  usable_ = stacks_ != nullptr;
}

LightChildren::~LightChildren() {
  if (stacks_ != nullptr) ::munmap(stacks_, kSlots * kStackBytes);
}

LightChildren::Slot* LightChildren::free_slot() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    last_ = (last_ + 1) % slots_.size();
    if (slots_[last_]->taken.load(std::memory_order_acquire) == 0) return slots_[last_].get();
  }
  if (slots_.size() == kSlots) return nullptr;
  last_ = slots_.size();
  slots_.push_back(std::make_unique<Slot>());
  return slots_.back().get();
}

bool LightChildren::can_make(const session::StartRequest& request, std::uint64_t mark) {
  const bool is_root = (request.user.empty() || request.user == "0") && request.groups.empty();
  if (!usable_ || mark != 0 || request.pty || !is_root || request.shell.size() > kMaxInlineShellBytes) return false;
  if (request.trusted_tools && sandbox_.options().tools.empty()) return false;
  return free_slot() != nullptr;
}

LightPlan LightChildren::plan_of(const session::StartRequest& request) const {
  LightPlan plan;
  const Identity root;
  plan.environment = make_environment(sandbox_, request, root);
  plan.arguments = request.shell.empty() ? request.argv : shell_words(sandbox_, request);
  plan.files = executables(plan.arguments.front(), search_path(sandbox_, request, plan.environment));
  plan.home = request.trusted_tools ? "/" : root.home;
  if (!request.cwd.empty()) plan.cwd = request.cwd;
  return plan;
}

Result<pid_t> LightChildren::make(const session::StartRequest& request, const ChildStdio& stdio, int channel, int cgroup_fd,
                                  const FilterKey& key) {
  auto& slot = *slots_[last_];
  // In its place: the pointers are to texts that live in it.
  auto& plan = slot.plan = plan_of(request);
  plan.entrance = &entrance_;
  plan.key = &key;
  plan.stdio = stdio;
  plan.channel = channel;
  plan.argument_pointers = pointers(plan.arguments);
  plan.environment_pointers = pointers(plan.environment);
  plan.file_pointers = pointers(plan.files);
  clone_args args{};
  args.flags = CLONE_VM | CLONE_PARENT | CLONE_CLEAR_SIGHAND | CLONE_CHILD_CLEARTID;
  args.child_tid = reinterpret_cast<std::uint64_t>(&slot.taken);
  args.stack = reinterpret_cast<std::uint64_t>(static_cast<char*>(stacks_) + last_ * kStackBytes);
  args.stack_size = kStackBytes;
  if (cgroup_fd >= 0) {
    args.flags |= CLONE_INTO_CGROUP;
    args.cgroup = static_cast<std::uint64_t>(cgroup_fd);
  }
  slot.taken.store(1, std::memory_order_release);
  const long pid = key.clone3_beside(&args, sizeof args, &be_light_child, &plan);
  if (pid > 0) return static_cast<pid_t>(pid);
  slot.taken.store(0, std::memory_order_release);
  return clone_error(static_cast<int>(-pid));
}

}  // namespace harena::shim
