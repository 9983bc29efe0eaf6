#include "plugins/microvm/machine/qemu_vmm.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>

#include "plugins/microvm/machine/qemu_arguments.hpp"
#include "plugins/microvm/machine/qemu_jail.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/process.hpp"
#include "sdk/vmm/qmp_client.hpp"

namespace harena::microvm {
namespace {

using nlohmann::json;

/// The file descriptor sets above those of the command line.
constexpr int kOverlaySet = 1000;
constexpr int kStateSet = 2000;
/// More than the state of the devices of a machine is (some 100 KiB).
constexpr std::uint64_t kStateBytes = 1 << 20;
constexpr std::size_t kMostLogBytes = 64 << 10;

struct SocketPair {
  UniqueFd ours, theirs;
};

Result<SocketPair> socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno_error(errno, "socketpair");
  return SocketPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<UniqueFd> open_file(const std::string& path, int flags) {
  UniqueFd file(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return errno_error(errno, "opening " + path);
  return file;
}

/// Whether the file system has no more than a device state's worth of room.
bool is_full(int file) {
  struct statvfs room{};
  return ::fstatvfs(file, &room) == 0 && room.f_bavail * room.f_frsize < kStateBytes;
}

/// What the child needs, all made before the fork.
struct Launch {
  const VmmSpec& spec;
  std::vector<UniqueFd> owned;
  std::vector<int> passed;  // in order: numbered from vmm::kFirstPassedFd on
  QemuDescriptors numbers;

  int pass(int fd) {
    passed.push_back(fd);
    return vmm::kFirstPassedFd + static_cast<int>(passed.size()) - 1;
  }
};

Status open_disks(Launch& launch) {
  for (const auto& disk : launch.spec.disks) {
    std::vector<int> numbers;
    for (std::size_t i = 0; i < disk.files.size(); ++i) {
      const bool writable = disk.writable && i + 1 == disk.files.size();
      UniqueFd file(::open(disk.files[i].path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC));
      if (!file) return errno_error(errno, "opening " + disk.files[i].path);
      numbers.push_back(launch.pass(file.get()));
      launch.owned.push_back(std::move(file));
    }
    launch.numbers.disks.push_back(std::move(numbers));
  }
  return {};
}

class QemuVmm final : public Vmm {
 public:
  QemuVmm(vmm::EventLoop& loop, const VmmSpec& spec) : loop_(loop), log_path_(spec.log_path) {
    for (std::size_t i = 0; i < spec.disks.size(); ++i) {
      Disk disk{spec.disks[i].serial, {}};
      for (std::size_t file = 0; file < spec.disks[i].files.size(); ++file) disk.nodes.push_back(disk_node(i, file));
      disks_.push_back(std::move(disk));
    }
  }
  ~QemuVmm() override { end(); }

  Status start(const VmmSpec& spec, std::int64_t deadline_ns);
  pid_t pid() const override { return pid_; }
  int pidfd() const override { return pidfd_.get(); }
  std::string ended() override;
  void on_channel(std::function<void(UniqueFd)> handler) override { handler(std::move(channel_)); }
  UniqueFd take_console() override { return std::move(console_); }
  std::string version() const override { return "qemu " + (qmp_ ? qmp_->version() : std::string("?")); }
  std::string guest_serial(const std::string& serial) const override { return serial; }
  Status stop(std::int64_t deadline_ns) override { return order("stop", deadline_ns); }
  Status run(std::int64_t deadline_ns) override { return order("cont", deadline_ns); }
  Status save(const SavePaths& to, std::int64_t deadline_ns) override;
  Status load_state(const std::string& path, std::int64_t deadline_ns) override;
  Status put_overlay(const std::string& serial, const std::string& overlay, std::int64_t deadline_ns) override;
  Status flatten(const std::string& serial, std::int64_t deadline_ns) override;
  void end() override;

 private:
  /// Block nodes by name, the lowest parent first.
  struct Disk {
    std::string serial;
    std::vector<std::string> nodes;
  };
  Status limit_disks(const VmmSpec& spec, std::int64_t deadline_ns);
  Result<Disk*> find_disk(const std::string& serial);
  Status end_of_job(int before, std::int64_t deadline_ns);
  Status fork_child(const Launch& launch, int log);
  Status order(const std::string& command, std::int64_t deadline_ns);
  Status give(int fd, int set, std::int64_t deadline_ns);
  Error with_log(Error error);
  void reap(int options);

  vmm::EventLoop& loop_;
  std::vector<Disk> disks_;
  std::string log_path_;
  pid_t pid_ = -1;
  UniqueFd pidfd_;
  UniqueFd channel_;
  UniqueFd console_;
  std::unique_ptr<vmm::QmpClient> qmp_;
  std::string ended_;
  int overlays_ = 0;
  int states_ = 0;
};

Status QemuVmm::fork_child(const Launch& launch, int log) {
  HARENA_TRY(const auto jail, qemu_jail(launch.spec));
  const auto arguments = qemu_arguments(launch.spec, launch.numbers);
  HARENA_TRY(UniqueFd null, open_file("/dev/null", O_RDWR));
  const pid_t self = ::getpid();
  // This process is small and single-threaded: a fork copies little, and the child may use the heap.
  pid_ = ::fork();
  if (pid_ < 0) return errno_error(errno, "fork of a VMM");
  if (pid_ == 0) vmm::exec_in_jail({jail, arguments, launch.passed, null.get(), log, self});
  pidfd_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!pidfd_) return errno_error(errno, "pidfd_open");
  return {};
}

Status QemuVmm::start(const VmmSpec& spec, std::int64_t deadline_ns) {
  Launch launch{spec, {}, {}, {}};
  HARENA_TRY(SocketPair qmp, socket_pair());
  HARENA_TRY(SocketPair channel, socket_pair());
  HARENA_TRY(SocketPair console, socket_pair());
  launch.numbers.qmp = launch.pass(qmp.theirs.get());
  launch.numbers.channel = launch.pass(channel.theirs.get());
  launch.numbers.console = launch.pass(console.theirs.get());
  HARENA_TRY_STATUS(open_disks(launch));
  if (launch.passed.size() > vmm::kMostPassedFds) return make_error(ErrorCode::invalid_argument, "too many disks");
  HARENA_TRY(UniqueFd log, open_file(spec.log_path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND));
  HARENA_TRY_STATUS(fork_child(launch, log.get()));
  launch.owned.clear();
  qmp.theirs.reset();
  channel.theirs.reset();
  console.theirs.reset();
  channel_ = std::move(channel.ours);
  console_ = std::move(console.ours);
  auto client = vmm::QmpClient::start(loop_, std::move(qmp.ours), deadline_ns);
  if (!client.ok()) return with_log(std::move(client).error());
  qmp_ = std::move(*client);
  return spec.disk_limits.any() ? limit_disks(spec, deadline_ns) : Status();
}

/// One group: the disks of a machine share its limits.
Status QemuVmm::limit_disks(const VmmSpec& spec, std::int64_t deadline_ns) {
  for (std::size_t i = 0; i < spec.disks.size(); ++i) {
    HARENA_TRY_STATUS(qmp_->execute("block_set_io_throttle", throttle_arguments(i, spec.disk_limits), deadline_ns));
  }
  return {};
}

Error QemuVmm::with_log(Error error) {
  reap(0 | WNOHANG);
  auto text = read_file_at(AT_FDCWD, log_path_, kMostLogBytes);
  if (text.ok() && !text->empty()) error.message += "; QEMU says: " + text->substr(text->size() > 600 ? text->size() - 600 : 0);
  return error;
}

void QemuVmm::reap(int options) {
  if (pid_ <= 0 || !ended_.empty()) return;
  int status = 0;
  if (::waitpid(pid_, &status, options) != pid_) return;
  ended_ = WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status)) : "exit " + std::to_string(WEXITSTATUS(status));
}

std::string QemuVmm::ended() {
  reap(WNOHANG);
  return ended_;
}

void QemuVmm::end() {
  if (pid_ > 0 && ended_.empty()) {
    ::kill(pid_, SIGKILL);
    reap(0);
  }
  qmp_.reset();
}

Status QemuVmm::order(const std::string& command, std::int64_t deadline_ns) {
  HARENA_TRY_STATUS(qmp_->execute(command, json::object(), deadline_ns));
  return {};
}

Status QemuVmm::give(int fd, int set, std::int64_t deadline_ns) {
  HARENA_TRY_STATUS(qmp_->execute("add-fd", {{"fdset-id", set}}, deadline_ns, std::span<const int>(&fd, 1)));
  return {};
}

Status QemuVmm::save(const SavePaths& to, std::int64_t deadline_ns) {
  HARENA_TRY(UniqueFd file, open_file(to.state, O_WRONLY | O_CREAT | O_EXCL));
  const int set = kStateSet + states_++;
  HARENA_TRY_STATUS(give(file.get(), set, deadline_ns));
  const json arguments = {{"filename", "/dev/fdset/" + std::to_string(set)}, {"live", false}};
  auto saved = qmp_->execute("xen-save-devices-state", arguments, deadline_ns);
  (void)qmp_->execute("remove-fd", {{"fdset-id", set}}, deadline_ns);
  if (saved.ok()) return {};
  const bool full = is_full(file.get());  // QEMU says "an IO error" of every cause
  ::unlink(to.state.c_str());
  if (!full) return std::move(saved).error();
  return infrastructure_error(ErrorCode::resource_exhausted, "disk",
                              "no room for the machine's state in " + to.state + ": " + saved.error().message);
}

Status QemuVmm::load_state(const std::string& path, std::int64_t deadline_ns) {
  HARENA_TRY(UniqueFd file, open_file(path, O_RDONLY));
  const int fd = file.get();
  HARENA_TRY(json answer, qmp_->execute("getfd", {{"fdname", "state"}}, deadline_ns, std::span<const int>(&fd, 1)));
  HARENA_TRY(answer, qmp_->execute("migrate-incoming", {{"uri", "fd:state"}}, deadline_ns));
  while (true) {
    // QEMU has no event for it that is sent without a capability; the whole takes a few milliseconds.
    auto status = qmp_->execute("query-status", json::object(), deadline_ns);
    if (!status.ok()) return with_log(std::move(status).error());
    if (status->value("status", "") != "inmigrate") return {};
    if (monotonic_now_ns() >= deadline_ns) return make_error(ErrorCode::deadline_exceeded, "QEMU didn't read a machine's state in time");
  }
}

Result<QemuVmm::Disk*> QemuVmm::find_disk(const std::string& serial) {
  for (auto& disk : disks_) {
    if (disk.serial == serial) return &disk;
  }
  return make_error(ErrorCode::internal, "no disk '" + serial + "'");
}

Status QemuVmm::put_overlay(const std::string& serial, const std::string& overlay, std::int64_t deadline_ns) {
  HARENA_TRY(Disk* disk, find_disk(serial));
  HARENA_TRY(UniqueFd file, open_file(overlay, O_RDWR));
  const int set = kOverlaySet + overlays_++;
  HARENA_TRY_STATUS(give(file.get(), set, deadline_ns));
  const std::string top = serial + "-" + std::to_string(set);
  const json caching = {{"no-flush", true}, {"direct", false}};
  const json node = {{"driver", "file"}, {"filename", "/dev/fdset/" + std::to_string(set)}, {"node-name", top + "-file"},
                     {"locking", "off"}, {"discard", "unmap"}, {"cache", caching}};
  HARENA_TRY(json done, qmp_->execute("blockdev-add", {{"driver", "qcow2"}, {"node-name", top}, {"file", node}, {"backing", nullptr},
                                                       {"discard", "unmap"}, {"cache", caching}}, deadline_ns));
  HARENA_TRY(done, qmp_->execute("blockdev-snapshot", {{"node", disk->nodes.back()}, {"overlay", top}}, deadline_ns));
  disk->nodes.push_back(top);
  return {};
}

Status QemuVmm::end_of_job(int before, std::int64_t deadline_ns) {
  const auto over = [&] { return qmp_->event_count("BLOCK_JOB_COMPLETED") > before || !ended().empty(); };
  HARENA_TRY_STATUS(loop_.run_until(over, deadline_ns, "QEMU's copying of a disk's parents"));
  const json outcome = qmp_->last_event("BLOCK_JOB_COMPLETED");
  if (!ended_.empty()) return infrastructure_error(ErrorCode::unavailable, "vmm", "the VMM ended: " + ended_);
  if (!outcome.is_object() || !outcome.contains("error")) return {};
  return infrastructure_error(ErrorCode::resource_exhausted, "disk", "copying a disk's parents: " + outcome["error"].dump());
}

Status QemuVmm::flatten(const std::string& serial, std::int64_t deadline_ns) {
  HARENA_TRY(Disk* disk, find_disk(serial));
  if (disk->nodes.size() < 3) return {};
  const int before = qmp_->event_count("BLOCK_JOB_COMPLETED");
  const json request = {{"job-id", "flatten"}, {"device", disk->nodes.back()}, {"base-node", disk->nodes.front()}};
  HARENA_TRY(json done, qmp_->execute("block-stream", request, deadline_ns));
  HARENA_TRY_STATUS(end_of_job(before, deadline_ns));
  // Nobody reads them any more; while they are open their files take room.
  for (std::size_t i = disk->nodes.size() - 2; i > 0; --i) {
    (void)qmp_->execute("blockdev-del", {{"node-name", disk->nodes[i]}}, deadline_ns);
    (void)qmp_->execute("blockdev-del", {{"node-name", disk->nodes[i] + "-file"}}, deadline_ns);
  }
  disk->nodes = {disk->nodes.front(), disk->nodes.back()};
  return {};
}

}  // namespace

Result<std::unique_ptr<Vmm>> launch_qemu(vmm::EventLoop& loop, const VmmSpec& spec, std::int64_t deadline_ns) {
  auto vmm = std::make_unique<QemuVmm>(loop, spec);
  HARENA_TRY_STATUS(vmm->start(spec, deadline_ns));
  return std::unique_ptr<Vmm>(std::move(vmm));
}

// init_on_free=0: a kernel that zeroes what it frees would expect zeros of a page that it has given back
// (qemu_arguments.cpp: the balloon), and a private mapping gives it the frozen file's.
VmmDriver qemu_driver() { return {VmmTraits{}, "console=ttyS0 quiet panic=-1 reboot=t init_on_free=0", launch_qemu}; }

}  // namespace harena::microvm
