#include "plugins/container/blank_pool.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "plugins/container/parameters.hpp"
#include "sdk/base/signal_mask.hpp"
#include "sdk/support/fault.hpp"

namespace harena::container {
namespace {

constexpr std::string_view kPrefix = "blank-";
/// How long the processes of a blank may take to end.
constexpr std::int64_t kRemovePatienceNs = 10'000'000'000;

/// One that couldn't be made is tried again after the next create, or after so long.
constexpr std::chrono::seconds kRetryAfter{1};

}  // namespace

bool Blank::has_root(const StageWish& wish) const {
  return !stage_layers.empty() && stage_layers == wish.digests() && request.stage.starts_with(wish.folder + "/");
}

namespace {

/// What differs between sandboxes already in what a blank has. (Folders of the host are mapped once and can't be tried twice.)
bool fits(const Blank& blank, const SandboxRequest& wanted) {
  return wanted.mount_targets.empty() && blank.request.shm_bytes == wanted.shm_bytes;
}

/// Made for a host as it was: nobody will want it any more.
bool outdated(const Blank& blank, const SandboxRequest& wanted) {
  return blank.request.lxcfs_mount != wanted.lxcfs_mount || blank.request.lxcfs != wanted.lxcfs;
}

}  // namespace

bool is_blank_name(const std::string& name) { return name.starts_with(kPrefix); }

Status remove_blank(const CgroupTree& cgroups, const std::string& name, std::int64_t deadline_ns) {
  // The builder first: an init that it is just making can't come into the other group any more.
  HARENA_TRY_STATUS(cgroups.remove_platform(name, deadline_ns));
  HARENA_TRY_STATUS(cgroups.kill_sandbox(name, deadline_ns));
  if (const std::string stage = cgroups.note_of(name); !stage.empty()) HARENA_TRY_STATUS(remove_stage(stage));
  return cgroups.remove_sandbox(name, deadline_ns);
}

BlankPool::BlankPool(Parts parts, Limits limits)
    : parts_(parts), limits_(limits), prefix_(std::string(kPrefix) + std::to_string(monotonic_now_ns()) + "-"), cpus_(limits.cpus) {
  if (limits_.size > 0) thread_ = std::thread([this] { run(); });
}

BlankPool::~BlankPool() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  for (auto* list : {&waiting_, &discarded_}) {
    for (auto& blank : *list) remove(std::move(blank));
  }
}

void BlankPool::drop_useless(const SandboxRequest& wanted) {
  const auto useless = [&](const Blank& blank) {
    return !blank.prepared.alive() || !parts_.launcher.has_made(blank.prepared) || outdated(blank, wanted);
  };
  const auto first = std::stable_partition(waiting_.begin(), waiting_.end(), [&](const Blank& blank) { return !useless(blank); });
  std::move(first, waiting_.end(), std::back_inserter(discarded_));
  waiting_.erase(first, waiting_.end());
}

std::optional<Blank> BlankPool::take(const SandboxRequest& wanted, const std::optional<StageWish>& wish) {
  std::optional<Blank> taken;
  std::lock_guard lock(mutex_);
  drop_useless(wanted);
  auto best = std::find_if(waiting_.begin(), waiting_.end(), [&](const Blank& blank) { return fits(blank, wanted) && wish && blank.has_root(*wish); });
  if (best == waiting_.end()) best = std::find_if(waiting_.begin(), waiting_.end(), [&](const Blank& blank) { return fits(blank, wanted); });
  if (best != waiting_.end()) {
    taken = std::move(*best);
    waiting_.erase(best);
    ++used_;
  }
  changed_.notify_all();
  return taken;
}

void BlankPool::expect(const StageWish& wish, int cpus) {
  std::lock_guard lock(mutex_);
  wish_ = wish;
  cpus_ = cpus;
}

void BlankPool::filled(Blank blank, bool with_its_root) {
  if (with_its_root) return parts_.launcher.release_layers(blank.stage_layers);
  if (blank.request.stage.empty()) return;
  blank.filled = true;
  discard(std::move(blank));
}

void BlankPool::discard(Blank blank) {
  blank.first_id = 0;  // whose it was has given it back
  std::lock_guard lock(mutex_);
  discarded_.push_back(std::move(blank));
  changed_.notify_all();
}

bool BlankPool::sacrifice_one() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !making_; });
  if (waiting_.empty()) return false;
  Blank blank = std::move(waiting_.front());
  waiting_.pop_front();
  lock.unlock();
  remove(std::move(blank));
  return true;
}

BlankPool::Counts BlankPool::counts() const {
  std::lock_guard lock(mutex_);
  return {waiting_.size(), limits_.size, made_, used_, problem_};
}

bool BlankPool::owns(const std::string& name) const { return name.starts_with(prefix_); }

BlankPool::Serving::Serving(BlankPool& pool) : pool_(pool) {
  std::lock_guard lock(pool_.mutex_);
  ++pool_.serving_;
}

BlankPool::Serving::~Serving() {
  std::lock_guard lock(pool_.mutex_);
  --pool_.serving_;
  pool_.begun_ = true;
  pool_.last_create_ = std::chrono::steady_clock::now();
  pool_.failed_ = false;
  pool_.changed_.notify_all();
}

bool BlankPool::has_room() const { return begun_ && !failed_ && serving_ == 0 && waiting_.size() < limits_.size; }

/// Making one takes a CPU for a few milliseconds, which who has just got a sandbox wants for its first command. With none left it may not
/// wait until that is over.
std::chrono::steady_clock::time_point BlankPool::due() const {
  constexpr std::chrono::milliseconds kAfterTheAnswer{2}, kAfterTheFirstCommand{15};
  return last_create_ + (waiting_.empty() ? kAfterTheAnswer : kAfterTheFirstCommand);
}

void BlankPool::run() {
  block_all_signals();
  std::unique_lock lock(mutex_);
  while (true) {
    await_work(lock);
    if (ending_) return;
    if (!something_to_do()) continue;
    if (discarded_.empty()) {
      make_one(lock);
      continue;
    }
    Blank blank = std::move(discarded_.front());
    discarded_.pop_front();
    lock.unlock();
    remove(std::move(blank));
    lock.lock();
  }
}

void BlankPool::await_work(std::unique_lock<std::mutex>& lock) {
  const auto something = [this] { return something_to_do(); };
  if (failed_) {
    changed_.wait_for(lock, kRetryAfter, something);
    failed_ = false;
    if (std::chrono::steady_clock::now() >= last_create_ + limits_.idle) begun_ = false;
    return;
  }
  if (has_room()) {
    changed_.wait_until(lock, due(), something);
    return;
  }
  // Whoever has room looks again when it is due.
  const auto something_soon = [&] { return something() || has_room(); };
  if (waiting_.empty()) return changed_.wait(lock, something_soon);
  if (changed_.wait_until(lock, last_create_ + limits_.idle, something_soon)) return;
  if (serving_ > 0 || std::chrono::steady_clock::now() < last_create_ + limits_.idle) return;
  begun_ = false;
  std::move(waiting_.begin(), waiting_.end(), std::back_inserter(discarded_));
  waiting_.clear();
}

void BlankPool::make_one(std::unique_lock<std::mutex>& lock) {
  Blank blank;
  blank.name = prefix_ + std::to_string(++serial_);
  making_ = true;
  lock.unlock();
  Status made = make(blank);
  if (!made.ok()) remove(std::move(blank));
  lock.lock();
  making_ = false;
  failed_ = !made.ok();
  // It may have been the root: the next one has none, unless a create wishes it again.
  if (failed_) wish_.reset();
  problem_ = made.ok() ? "" : made.error().describe();
  if (made.ok()) {
    waiting_.push_back(std::move(blank));
    ++made_;
  }
  changed_.notify_all();
}

/// A root is a favour: a blank that can't have one is worth as much as before.
void BlankPool::stage(Blank& blank, const BlankGroups& groups, const StageWish& wish) const {
  const std::string path = wish.folder + "/" + blank.name;
  if (!CgroupTree::note_on_blank(groups, path).ok()) return;
  if (!make_stage(wish.folder, blank.name, blank.first_id).ok()) {
    (void)remove_stage(path);
    return;
  }
  blank.request.stage = path;
  blank.stage_layers = wish.digests();
  parts_.launcher.retain_layers(blank.stage_layers);
}

Status BlankPool::make(Blank& blank) {
  std::optional<StageWish> wish;
  {
    std::lock_guard lock(mutex_);
    wish = wish_;
    blank.request.cpus = cpus_;
  }
  HARENA_TRY(blank.first_id, parts_.ids.acquire());
  auto lxcfs = parts_.lxcfs.now();
  blank.request.first_id = blank.first_id;
  blank.request.shm_bytes = kDefaultShmBytes;
  blank.request.lxcfs = std::move(lxcfs.files);
  blank.request.lxcfs_mount = lxcfs.mount;
  HARENA_TRY(auto groups, parts_.cgroups.make_blank(blank.name));
  fault_point("blank.groups");
  if (wish) stage(blank, groups, *wish);
  const auto wanted = [this]() -> Status {
    std::lock_guard lock(mutex_);
    return ending_ ? Status(make_error(ErrorCode::cancelled, "the pool of prepared sandboxes ends")) : Status();
  };
  const auto layers = blank.stage_layers.empty() ? std::vector<LayerImage>() : wish->layers;
  HARENA_TRY(blank.prepared, parts_.launcher.prepare(blank.request, layers, {groups.sandbox.fd(), groups.platform.fd()}, wanted));
  fault_point("blank.made");
  return {};
}

void BlankPool::remove(Blank blank) const {
  blank.prepared.socket.reset();
  const std::int64_t deadline = monotonic_now_ns() + kRemovePatienceNs;
  // What won't die keeps its range; the next start removes both.
  if (!blank.filled && !remove_blank(parts_.cgroups, blank.name, deadline).ok()) return;
  if (blank.filled) (void)remove_stage(blank.request.stage);
  if (!blank.stage_layers.empty()) parts_.launcher.release_layers(blank.stage_layers);
  if (!blank.filled && blank.first_id != 0) parts_.ids.release(blank.first_id);
}

}  // namespace harena::container
