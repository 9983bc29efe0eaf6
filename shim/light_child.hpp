#pragma once
// The process of most commands, made without a copy: until its exec it shares the spawner's memory, as after
// vfork(2), but nobody waits for it. A copy costs page tables, a fault for each page that either side
// touches, and taking all of it apart again at the exec.
//
// The surprising part: spawner and children run at the same time on one heap and one errno. So a child uses
// neither. All that it needs is laid out before it is born (LightPlan), its calls are raw (raw_call.hpp), its
// stack is its slot's, and what goes wrong it reports as numbers (start_failure.hpp). The slot is free again
// when the kernel says that the child let go of the memory, by exec or by its end (CLONE_CHILD_CLEARTID). An
// agent that stops such a child keeps a slot, nothing else; without a free one commands are made by copy.
//
// Nobody inside reads or writes this memory by way of the child: it isn't dumpable, and belongs to the
// machine's user namespace. So where the sandbox has no user namespace of its own (in a guest), commands are
// made by copy.

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "shim/command_child.hpp"
#include "shim/command_plan.hpp"
#include "shim/entrance.hpp"

namespace harena::shim {

/// What a child reads, and nobody changes before its slot is free.
struct LightPlan {
  const Entrance* entrance = nullptr;
  const FilterKey* key = nullptr;
  ChildStdio stdio;
  int channel = -1;
  std::vector<std::string> arguments, environment, files;
  std::vector<char*> argument_pointers, environment_pointers, file_pointers;
  /// Absent: the home folder or "/".
  std::optional<std::string> cwd;
  std::string home;
};

class LightChildren {
 public:
  /// More are never on their way to exec at once, unless somebody holds them up.
  static constexpr std::size_t kSlots = 64;

  explicit LightChildren(const Sandbox& sandbox);
  LightChildren(const LightChildren&) = delete;
  LightChildren& operator=(const LightChildren&) = delete;
  ~LightChildren();

  /// A command that needs nothing but what a light child can do: no PTY, root, arguments that fit. False when
  /// all slots are taken, too.
  bool can_make(const session::StartRequest& request, std::uint64_t mark);
  /// Precondition: can_make(). The pid in the caller's pid namespace; the child is the caller's parent's.
  /// Errors as clone_child().
  Result<pid_t> make(const session::StartRequest& request, const ChildStdio& stdio, int channel, int cgroup_fd, const FilterKey& key);

 private:
  struct Slot {
    /// Not 0 while a child has the slot; the kernel sets it to 0.
    std::atomic<std::uint32_t> taken{0};
    LightPlan plan;
  };
  LightPlan plan_of(const session::StartRequest& request) const;
  Slot* free_slot();

  const Sandbox& sandbox_;
  Entrance entrance_;
  bool usable_ = false;
  void* stacks_ = nullptr;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::size_t last_ = 0;
};

}  // namespace harena::shim
