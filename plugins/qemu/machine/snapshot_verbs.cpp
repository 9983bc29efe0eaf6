// What a machine keeps of itself: snapshots in its own disks, and what goes on from one.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "plugins/qemu/machine/machine.hpp"
#include "plugins/qemu/machine/machine_snapshot.hpp"
#include "plugins/qemu/machine/qemu_arguments.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/process.hpp"
#include "sdk/vmm/file_copies.hpp"

namespace harena::qemu {
namespace {

constexpr std::int64_t kJobNs = 120'000'000'000;
/// A whole memory is written at 50 MB/s or more.
constexpr std::int64_t kSaveNsPerByte = 20;
/// Their list is one answer of QEMU (vmm::kMaxQmpLineBytes), with up to 8 disks of several nodes each.
constexpr std::size_t kMostSnapshots = 1000;
constexpr std::int64_t kQuitNs = 20'000'000'000;

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

std::int64_t now_us() { return monotonic_now_ns() / 1000; }

}  // namespace

/// The guest runs no instruction, and QEMU has written all it knows of the disks, until this ends; then it is what it was.
class Machine::Standstill {
 public:
  static Result<std::unique_ptr<Standstill>> begin(Machine& machine) {
    HARENA_TRY(const bool was_running, machine.running());
    if (was_running) HARENA_TRY_STATUS(machine.command("stop"));
    return std::unique_ptr<Standstill>(new Standstill(machine, was_running));
  }
  ~Standstill() { (void)end(); }
  Status end() {
    if (!std::exchange(go_on_, false) || machine_.ended()) return {};
    HARENA_TRY_STATUS(machine_.command("cont"));
    return {};
  }

 private:
  Standstill(Machine& machine, bool go_on) : machine_(machine), go_on_(go_on) {}
  Machine& machine_;
  bool go_on_;
};

Result<bool> Machine::running() {
  HARENA_TRY(const json told, command("query-status"));
  return told.value("running", false);
}

SnapshotJobs Machine::jobs() {
  return {loop_, qemu_->qmp(), writable_nodes(config_), kJobNs + config_.all_memory_bytes() * kSaveNsPerByte};
}

Status Machine::note_tag(const std::string& tag, const std::string& folder) const {
  const std::string tags = config_.vm_dir + "/" + kTagsFolder;
  if (::mkdir(tags.c_str(), 0700) != 0 && errno != EEXIST) return errno_error(errno, "making " + tags);
  return create_file_at(AT_FDCWD, tag_file(tag), folder, 0600);
}

Status Machine::check_holds_snapshots() const {
  for (std::size_t i = 0; i < config_.disks.size(); ++i) {
    if (!config_.disks[i].raw) continue;
    return make_error(ErrorCode::failed_precondition, "disks[" + std::to_string(i) +
                                                          "] is a raw file that the machine writes to, and a raw file holds no snapshot; a machine "
                                                          "whose disks are all \"format\": \"qcow2\" has snapshots");
  }
  return {};
}

Status Machine::check_version(const std::string& then) const {
  const std::string& now = qemu_->qmp().version();
  if (then == now) return {};
  Error error = make_error(ErrorCode::failed_precondition, "the snapshot was taken under QEMU " + then + "; this host has " + now);
  error.retry = Retry::other_node;
  return error;
}

/// A VMM that is started now is what this one is.
Status Machine::check_same_program() const {
  struct stat runs{}, there{};
  const std::string mine = "/proc/" + std::to_string(qemu_->pid()) + "/exe";
  const bool looked = ::stat(mine.c_str(), &runs) == 0 && ::stat(config_.qemu.c_str(), &there) == 0;
  if (looked && runs.st_dev == there.st_dev && runs.st_ino == there.st_ino) return {};
  return make_error(ErrorCode::failed_precondition, config_.qemu +
      " isn't the QEMU any more that this machine was started with (an upgrade?), and "
                                                                   "may not read its state");
}

/// Deletions that this machine couldn't be told of.
void Machine::forget_deleted() {
  auto known = list_directory(AT_FDCWD, config_.vm_dir + "/" + kTagsFolder);
  if (!known.ok()) return;
  for (const auto& tag : *known) (void)forget_snapshot(tag);
}

Result<json> Machine::forget_snapshot(const std::string& tag) {
  auto folder = read_file_at(AT_FDCWD, tag_file(tag));
  if (!folder.ok() || is_there(*folder)) return json{{"forgotten", false}};
  HARENA_TRY_STATUS(jobs().remove(tag));
  ::unlink(tag_file(tag).c_str());
  return json{{"forgotten", true}};
}

Status Machine::check_new(const std::string& tag) {
  HARENA_TRY(const auto known, jobs().tags());
  if (known.contains(tag)) return make_error(ErrorCode::already_exists, "the machine's disks have a snapshot '" + tag + "'");
  if (known.size() < kMostSnapshots) return {};
  return make_error(ErrorCode::resource_exhausted, "the machine's disks hold " + std::to_string(known.size()) +
      " snapshots, of at most " + std::to_string(kMostSnapshots) + "; delete some of them");
}

Status Machine::take_snapshot(const std::string& tag, const std::string& folder) {
  MachineSnapshot made{.tag = tag, .vmm = qemu_->qmp().version(), .config = config_, .images = {}};
  made.config.restore_tag.clear();
  made.config.restore_folder.clear();
  HARENA_TRY(made.images, identify_images(config_));
  HARENA_TRY_STATUS(jobs().save(tag));
  fault_point("qemu.machine.snapshot.saved");
  for (const auto& name : own_files(config_)) HARENA_TRY_STATUS(vmm::link_or_copy(config_.vm_dir + "/" + name, folder + "/" + name));
  fault_point("qemu.machine.snapshot.linked");
  for (const auto& name : own_files(config_)) HARENA_TRY_STATUS(sync_file(folder + "/" + name));
  return made.write(folder);
}

Result<json> Machine::snapshot(const std::string& tag, const std::string& folder) {
  HARENA_TRY_STATUS(check_holds_snapshots());
  forget_deleted();
  HARENA_TRY_STATUS(check_new(tag));
  HARENA_TRY_STATUS(note_tag(tag, folder));
  fault_point("qemu.machine.snapshot.noted");
  const std::int64_t begun = now_us();
  HARENA_TRY(auto standstill, Standstill::begin(*this));
  Status taken = take_snapshot(tag, folder);
  if (!taken.ok() && !ended() && jobs().remove(tag).ok()) ::unlink(tag_file(tag).c_str());
  Status gone_on = standstill->end();
  if (!taken.ok()) return std::move(taken).error();
  if (!gone_on.ok()) return std::move(gone_on).error();
  return json{{"stopped_us", now_us() - begun}};
}

Status Machine::go_on_from(const std::string& tag) {
  Status loaded = jobs().load(tag);
  return loaded.ok() ? loaded : Status(std::move(loaded).error().during("going on from the snapshot '" + tag + "'"));
}

/// Its disks are copies of another machine's: that one's other tags are of no use here.
Status Machine::keep_tag_alone() {
  const bool kept = !config_.restore_folder.empty();
  HARENA_TRY(const auto tags, jobs().tags());
  for (const auto& tag : tags) {
    if (!kept || tag != config_.restore_tag) HARENA_TRY_STATUS(jobs().remove(tag));
  }
  return kept ? note_tag(config_.restore_tag, config_.restore_folder) : Status();
}

void Machine::end_vmm() {
  loop_.unwatch(qemu_->pidfd());
  // In order, so that nothing of the disks is in its memory alone; a VMM that doesn't go is killed.
  const std::int64_t deadline = monotonic_now_ns() + kQuitNs;
  if (qemu_->qmp().execute("quit", json::object(), deadline).ok()) (void)wait_process_end(qemu_->pidfd(), deadline);
  console_->drain();
  console_->detach();
  qemu_.reset();
}

/// Its group's limit follows what the record says, or what the machine has.
Status Machine::check_room(std::int64_t memory_bytes) const {
  const std::int64_t room = std::max(config_.asked_memory_bytes, config_.all_memory_bytes());
  if (memory_bytes <= room) return {};
  return make_error(ErrorCode::failed_precondition, "the machine had " + std::to_string(memory_bytes) +
      " bytes of memory when the snapshot was taken, and now may have " + std::to_string(room) +
                                                        "; change its parameter 'memory' to as much first");
}

Result<json> Machine::rollback(const std::string& folder) {
  HARENA_TRY(const auto snapshot, MachineSnapshot::read(folder));
  if (!is_there(tag_file(snapshot.tag))) {
    return make_error(ErrorCode::failed_precondition, "the machine's disks don't hold the snapshot '" + snapshot.tag +
                                                          "': a full machine goes back to its own snapshots and to the one that it was made of");
  }
  HARENA_TRY_STATUS(check_room(snapshot.config.all_memory_bytes()));
  HARENA_TRY_STATUS(snapshot.check_images());
  HARENA_TRY_STATUS(check_version(snapshot.vmm));
  HARENA_TRY_STATUS(check_same_program());
  HARENA_TRY(const bool was_running, running());
  const std::int64_t begun = now_us();
  end_vmm();
  fault_point("qemu.machine.rollback.ended");
  config_.restore_tag = snapshot.tag;
  config_.plugged = snapshot.config.plugged;
  Status gone_on = launch();
  if (gone_on.ok()) gone_on = go_on_from(snapshot.tag);
  fault_point("qemu.machine.rollback.loaded");
  if (gone_on.ok() && was_running) gone_on = command("cont").ok() ? Status() : Status(why_ended());
  config_.restore_tag.clear();
  if (gone_on.ok()) return json{{"stopped_us", now_us() - begun}, {"vmm_pid", qemu_->pid()}};
  Error why = std::move(gone_on).error();
  failed_ = infrastructure_error(ErrorCode::unavailable, "vmm", "a rollback failed: " + why.describe());
  return why;
}

Result<json> Machine::copy_files(const std::string& folder, const std::string& to) {
  HARENA_TRY(const auto snapshot, MachineSnapshot::read(folder));
  HARENA_TRY(auto standstill, Standstill::begin(*this));
  Status copied = copy_snapshot_files(snapshot, folder, to);
  Status gone_on = standstill->end();
  if (!copied.ok()) return std::move(copied).error();
  if (!gone_on.ok()) return std::move(gone_on).error();
  return json::object();
}

}  // namespace harena::qemu
