#pragma once
// BlankPool: a few sandboxes made in advance, but for what their requests will say: processes, namespaces, /proc, /sys, /dev with their
// masks, cgroups and a range of ids. A create that finds one only fills it. A blank becomes one sandbox and never another.
//
// One that is made while the layers of the last create are known has a root on them too (root_stage.hpp); a request for others leaves that behind.
//
// They are made a moment after answers, one at a time, and only while no create is being served: under load the pool runs empty and
// creates go the direct way, which costs the machine the same. When nobody has made a sandbox for a while, those that wait are ended: a machine that makes
// none keeps none. Nothing of a blank outlives harenad but empty cgroups, which the next sweep removes.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "plugins/container/launcher_client.hpp"
#include "plugins/container/lxcfs.hpp"
#include "plugins/container/root_stage.hpp"
#include "sdk/support/id_range.hpp"

namespace harena::container {

struct Blank {
  std::string name;  // of its cgroups
  std::uint32_t first_id = 0;  // 0: its range is somebody else's affair
  BlankRequest request;
  PreparedBlank prepared;
  std::vector<std::string> stage_layers;  // digests of what its root is on, which it uses; empty: it has none
  bool filled = false;                    // a sandbox has become of it: only a stage that it didn't take may be left

  /// Whether its root is the one that is wished for.
  bool has_root(const StageWish& wish) const;
};

/// Names of blanks' groups; no sandbox id looks like one.
bool is_blank_name(const std::string& name);
/// What there is of a blank, of this life or an earlier one, but for its range.
Status remove_blank(const CgroupTree& cgroups, const std::string& name, std::int64_t deadline_ns);

/// Thread-safe.
class BlankPool {
 public:
  /// Everything outlives the pool.
  struct Parts {
    LauncherClient& launcher;
    const CgroupTree& cgroups;
    IdRangePool& ids;
    LxcfsView& lxcfs;
  };
  struct Limits {
    std::size_t size = 0;       // blanks at most; 0: none ever
    std::chrono::seconds idle;  // after so long without a create those that wait are ended
    int cpus = 0;               // that the first ones show; 0: sandboxes see all of the machine's (a setting: no request differs in it)
  };
  /// The first is made after the first create: a daemon that makes no sandboxes makes none.
  BlankPool(Parts parts, Limits limits);
  /// Ends the blanks and removes what is theirs.
  ~BlankPool();
  BlankPool(const BlankPool&) = delete;
  BlankPool& operator=(const BlankPool&) = delete;

  /// One that fits the request, which gets its first_id with it; it is the caller's now, its range too. One with the root that is wished for,
  /// if there is one. nullopt: make one.
  std::optional<Blank> take(const SandboxRequest& wanted, const std::optional<StageWish>& wish);
  /// A sandbox of this kind was made: those that are made from now on are made for another one.
  void expect(const StageWish& wish, int cpus);
  /// A sandbox has become of it, whose its range and groups are. Its stage, if that wasn't wanted, is removed in the background.
  void filled(Blank blank, bool with_its_root);
  /// Removes, in the background, what is left of a blank that was taken, but for its range.
  void discard(Blank blank);
  /// Ends a blank now, so that its range is free; false when there is none. Waits for one that is being made. (While the caller is
  /// Serving, no other is begun.)
  bool sacrifice_one();
  struct Counts {
    std::size_t waiting = 0, size = 0;
    std::uint64_t made = 0, used = 0;  // since the start
    std::string problem;               // why the last one couldn't be made; empty: it could
  };
  Counts counts() const;
  /// Whether the groups of this name are of a blank that this pool has made.
  bool owns(const std::string& name) const;
  /// With which the names of all of them begin.
  const std::string& prefix() const { return prefix_; }

  /// While one exists, no blank is made.
  class Serving {
   public:
    explicit Serving(BlankPool& pool);
    ~Serving();
    Serving(const Serving&) = delete;
    Serving& operator=(const Serving&) = delete;

   private:
    BlankPool& pool_;
  };

 private:
  void run();
  void await_work(std::unique_lock<std::mutex>& lock);
  bool something_to_do() const { return ending_ || !discarded_.empty() || wants_more(); }
  void make_one(std::unique_lock<std::mutex>& lock);
  Status make(Blank& blank);
  void stage(Blank& blank, const BlankGroups& groups, const StageWish& wish) const;
  void remove(Blank blank) const;
  void drop_useless(const SandboxRequest& wanted);
  bool has_room() const;
  std::chrono::steady_clock::time_point due() const;
  bool wants_more() const { return has_room() && std::chrono::steady_clock::now() >= due(); }

  const Parts parts_;
  const Limits limits_;
  const std::string prefix_;  // of the names; another one each life
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Blank> waiting_;
  std::deque<Blank> discarded_;
  std::optional<StageWish> wish_;
  int cpus_;
  std::uint64_t serial_ = 0;
  int serving_ = 0;
  bool making_ = false;
  bool begun_ = false;   // there was a create, not long ago
  bool failed_ = false;  // the last one couldn't be made
  std::string problem_;
  std::uint64_t made_ = 0, used_ = 0;
  bool ending_ = false;
  std::chrono::steady_clock::time_point last_create_{};
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace harena::container
