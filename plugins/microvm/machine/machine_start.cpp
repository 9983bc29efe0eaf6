// How a machine begins: a first boot, or from an image, which is how it is resumed too.

#include <fcntl.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "plugins/microvm/machine/machine.hpp"
#include "plugins/microvm/machine/ram_delta.hpp"
#include "sdk/session/tunnel/agent_messages.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/process.hpp"
#include "sdk/support/tsc_rate.hpp"
#include "sdk/vmm/unix_listener.hpp"

namespace harena::microvm {
namespace {

/// What an error has of the console.
constexpr std::size_t kToldConsoleBytes = 500;

Status check_room(const std::string& folder, std::int64_t bytes, const char* what) {
  struct statvfs room{};
  if (::statvfs(folder.c_str(), &room) != 0) return errno_error(errno, "looking at " + folder);
  const auto free_bytes = static_cast<std::int64_t>(room.f_bavail * room.f_frsize);
  if (free_bytes >= bytes) return {};
  Error full = infrastructure_error(ErrorCode::resource_exhausted, "disk", std::string(what) + " needs " + std::to_string(bytes) + " bytes; " + folder +
                                                                                " has " + std::to_string(free_bytes) + " left");
  full.retry = Retry::other_node;
  return full;
}

Status sparse_file(const std::string& path, std::int64_t bytes, mode_t mode) {
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return errno_error(errno, "making " + path);
  if (::ftruncate(file.get(), bytes) != 0 || ::fchmod(file.get(), mode) != 0) return errno_error(errno, "sizing " + path);
  return {};
}

/// mke2fs of the host; no journal: what a crash of the VMM leaves is thrown away with the sandbox.
Status make_file_system(const std::string& path) {
  const char* argv[] = {"mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", "-O", "^has_journal", "-E", "lazy_itable_init=1,nodiscard", path.c_str(), nullptr};
  const char* environment[] = {"PATH=/usr/sbin:/sbin:/usr/bin:/bin", "MKE2FS_SKIP_PROGRESS=1", nullptr};
  pid_t pid = -1;
  int failed = ENOENT;
  for (const char* program : {"/usr/sbin/mke2fs", "/sbin/mke2fs"}) {
    failed = ::posix_spawn(&pid, program, nullptr, nullptr, const_cast<char**>(argv), const_cast<char**>(environment));
    if (failed == 0) break;
  }
  if (failed != 0) return make_error(ErrorCode::failed_precondition, "mke2fs can't be run: " + std::string(std::strerror(failed)) + "; apt-get install e2fsprogs");
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return infrastructure_error(ErrorCode::unavailable, "disk", "mke2fs of a sandbox's disk failed");
}

}  // namespace

Result<json> Machine::start() {
  HARENA_TRY(bridge_, session::ChannelBridge::on_host(random_));
  HARENA_TRY_STATUS(loop_.watch(bridge_->fd(), EPOLLIN, [this](std::uint32_t) {
    if (auto turned = bridge_->turn(); !turned.ok() && state_ != State::starting) {
      fail(infrastructure_error(ErrorCode::data_loss, "guest", "the guest's channel: " + turned.error().message));
    }
  }));
  HARENA_TRY(names_, FileNames::in(config_.vm_dir));
  auto told = config_.paused ? start_paused() : config_.from.empty() ? boot() : start_from_image();
  if (told.ok()) {
    HARENA_TRY_STATUS(open_endpoint());
  } else if (!console_text_.empty()) {
    told.error().message += "; the guest's console: " + console_text_.substr(console_text_.size() > kToldConsoleBytes ? console_text_.size() - kToldConsoleBytes : 0);
  }
  return told;
}

Status Machine::make_ram() {
  if (!driver_.traits.maps_ram_file) return {};
  HARENA_TRY_STATUS(check_room(config_.vm_dir, config_.ram_bytes, "the machine's memory"));
  ram_ = names_.next("ram");
  mapping_ = RamMapping::shared;
  // Open to all users, in a folder of root's alone: each VMM has a user of its own, and maps it through its jail.
  return sparse_file(path(ram_), config_.ram_bytes, 0666);
}

Status Machine::make_disk() {
  disk_ = {{names_.next("disk"), false}};
  HARENA_TRY_STATUS(sparse_file(path(disk_[0].path), config_.disk_bytes, 0600));
  return make_file_system(path(disk_[0].path));
}

VmmSpec Machine::spec(bool incoming, const std::vector<DiskFile>& disk) const {
  VmmSpec spec{.program = config_.program, .jailer = config_.jailer, .firmware_dir = config_.firmware_dir,
               .jail_dir = config_.run_dir + "/jail", .work_dir = config_.vm_dir, .log_path = path("vmm.log"), .kernel = config_.kernel, .initramfs = config_.initramfs};
  spec.command_line = driver_.command_line;
  if (config_.accelerator == Accelerator::tcg) spec.command_line += emulated_kernel_words(static_cast<std::uint64_t>(config_.tsc_khz));
  spec.accelerator = config_.accelerator;
  spec.cpu_model = config_.cpu_model;
  spec.cpus = config_.cpus;
  if (!ram_.empty()) spec.ram_path = path(ram_);
  spec.ram_bytes = config_.ram_bytes;
  spec.ram = mapping_;
  for (std::size_t i = 0; i < config_.layers.size(); ++i) {
    spec.disks.push_back({"l" + std::to_string(i), {{config_.layers[i].path, false}}, false});
  }
  spec.disks.push_back({kDiskSerial, disk, true});
  for (auto& file : spec.disks.back().files) file.path = path(file.path);
  spec.disk_limits = config_.disk_limits;
  spec.incoming = incoming;
  spec.uid = config_.uid;
  spec.group_files = group_files_;
  return spec;
}

Result<json> Machine::boot() {
  const std::int64_t begun = monotonic_now_ns();
  HARENA_TRY_STATUS(make_ram());
  HARENA_TRY_STATUS(make_disk());
  fault_point("machine.boot.files");
  HARENA_TRY(auto vmm, driver_.launch(loop_, spec(false, disk_), begun + kStepPatienceNs));
  fault_point("machine.boot.launched");
  (void)adopt_vmm(std::move(vmm), session::LinkStart::new_epoch);
  HARENA_TRY(json told, configure());
  state_ = state_ == State::ended ? State::ended : State::running;
  told["boot_us"] = (monotonic_now_ns() - begun) / 1000;
  told["vmm"] = vmm_->version();
  return told;
}

Result<json> Machine::configure() {
  session::ConfigureRequest request;
  request.sandbox = config_.sandbox;
  for (std::size_t i = 0; i < config_.layers.size(); ++i) request.layers.push_back(vmm_->guest_serial("l" + std::to_string(i)));
  request.disk = vmm_->guest_serial(kDiskSerial);
  request.identity = identity(true);
  request.environment.assign(config_.env.begin(), config_.env.end());
  request.pids_max = static_cast<std::uint64_t>(config_.pids);
  request.rlimits = config_.rlimits;
  request.readonly_root = config_.readonly_root;
  HARENA_TRY(const std::string bytes, ask(request, config_.start_timeout_ms, "starting the guest"));
  HARENA_TRY(const auto answer, session::decode<session::ConfigureAnswer>(bytes));
  return json{{"kernel", answer.kernel}, {"agent", answer.build}, {"kernel_us", answer.kernel_us}, {"agent_us", answer.agent_us},
              {"configure_us", answer.configure_us}};
}

Status Machine::check_fits(const MachineImage& image) const {
  std::vector<std::string> layers;
  for (const auto& layer : config_.layers) layers.push_back(layer.digest);
  const auto differs = [](const std::string& what, std::int64_t mine, std::int64_t its) -> Status {
    if (mine == its) return {};
    return make_error(ErrorCode::invalid_argument, what + " " + std::to_string(mine) + ": a machine that goes on from memory has what it had, " + std::to_string(its));
  };
  HARENA_TRY_STATUS(differs("memory_bytes", config_.ram_bytes, image.ram_bytes));
  HARENA_TRY_STATUS(differs("disk_bytes", config_.disk_bytes, image.disk_bytes));
  HARENA_TRY_STATUS(differs("virtual CPUs", config_.cpus, image.cpus));
  HARENA_TRY_STATUS(differs("readonly_rootfs", config_.readonly_root ? 1 : 0, image.readonly_root ? 1 : 0));
  if (layers != image.layers) return make_error(ErrorCode::invalid_argument, "the snapshot was taken of a machine on other image layers");
  if (image.kvm != (config_.accelerator == Accelerator::kvm) || image.cpu_model != config_.cpu_model) {
    return make_error(ErrorCode::failed_precondition, std::string("the snapshot was taken under ") + (image.kvm ? "KVM" : "emulation (TCG)") + " with CPU '" +
                                                          image.cpu_model + "', which this host's configuration isn't");
  }
  return {};
}

Result<json> Machine::stand_by() {
  if (state_ != State::running) return make_error(ErrorCode::failed_precondition, "the machine doesn't run");
  HARENA_TRY_STATUS(freeze());
  HARENA_TRY_STATUS(vmm_->stop(monotonic_now_ns() + kStepPatienceNs));
  state_ = State::standby;
  return json::object();
}

/// The VMM that stood by, thread by thread: that is what files of v1 take, and those of v2 take it too. It stands still: no thread is made.
Status Machine::join_groups(pid_t process) {
  std::vector<int> files;
  for (const auto& group : config_.groups) {
    UniqueFd file(::open(group.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file) return errno_error(errno, "opening " + group);
    files.push_back(file.get());
    claimed_groups_.push_back(std::move(file));
  }
  HARENA_TRY(const auto threads, list_directory(AT_FDCWD, "/proc/" + std::to_string(process) + "/task"));
  for (int file : files) {
    for (const auto& thread : threads) {
      const auto size = static_cast<ssize_t>(thread.size());
      if (::write(file, thread.data(), thread.size()) != size && errno != ESRCH) return errno_error(errno, "moving a VMM to its group");
    }
  }
  group_files_ = std::move(files);
  return {};
}

Result<json> Machine::claim(MachineConfig config) {
  if (state_ != State::standby) return make_error(ErrorCode::failed_precondition, "the machine doesn't stand by");
  const std::int64_t begun = monotonic_now_ns();
  config_ = std::move(config);
  auto told = [&]() -> Result<json> {
    HARENA_TRY_STATUS(join_groups(vmm_->pid()));
    fault_point("machine.claimed");
    HARENA_TRY_STATUS(vmm_->run(begun + kStepPatienceNs));
    HARENA_TRY(json renewed, renew(true));
    HARENA_TRY_STATUS(thaw());
    return renewed;
  }();
  if (!told.ok()) {
    fail(told.error());
    return told;
  }
  if (state_ != State::ended) state_ = State::running;
  (*told)["start_us"] = (monotonic_now_ns() - begun) / 1000;
  (*told)["vmm"] = vmm_->version();
  return told;
}

Result<json> Machine::start_paused() {
  HARENA_TRY(const auto image, MachineImage::read(config_.vm_dir));
  HARENA_TRY_STATUS(check_fits(image));
  ram_ = image.ram;
  disk_ = image.disk;
  mapping_ = RamMapping::own_copy;
  link_lost_ = true;
  state_ = State::paused;
  return json::object();
}

Result<json> Machine::start_from_image() {
  const std::int64_t begun = monotonic_now_ns();
  HARENA_TRY(const auto image, MachineImage::read(config_.from));
  HARENA_TRY_STATUS(image.check_files(config_.from));
  HARENA_TRY_STATUS(check_fits(image));
  HARENA_TRY(const auto mine, adopt_image(image, config_.from, config_.vm_dir, names_));
  fault_point("machine.clone.adopted");
  HARENA_TRY_STATUS(mine.write(config_.vm_dir));
  HARENA_TRY(auto prepared, prepare(mine));
  HARENA_TRY(json told, go_on(std::move(prepared), mine, session::LinkStart::new_epoch, true));
  told["start_us"] = (monotonic_now_ns() - begun) / 1000;
  told["vmm"] = vmm_->version();
  return told;
}

Result<Machine::Prepared> Machine::prepare(const MachineImage& image) {
  if (!driver_.traits.maps_ram_file && !image.delta.empty()) {
    MachineImage complete = image;  // there was no room for it when it was saved
    HARENA_TRY_STATUS(merge_large_delta(config_.vm_dir, names_, complete));
    return prepare(complete);
  }
  ram_ = image.ram;
  mapping_ = RamMapping::own_copy;
  Prepared prepared{nullptr, image.disk, {}};
  struct stat top{};
  if (::stat(path(image.disk.back().path).c_str(), &top) != 0) return errno_error(errno, "looking at a machine's disk");
  if (top.st_nlink > 1 && driver_.traits.disk_chains) {
    HARENA_TRY(prepared.overlay, make_overlay());
    prepared.disk.push_back({prepared.overlay, true});
  } else if (top.st_nlink > 1) {
    prepared.overlay = names_.next("disk");
    HARENA_TRY_STATUS(clone_file(path(prepared.disk.back().path), path(prepared.overlay)));
    prepared.disk.back().path = prepared.overlay;
  }
  const std::int64_t deadline = monotonic_now_ns() + kStepPatienceNs;
  auto filled = [&]() -> Status {
    HARENA_TRY(prepared.vmm, driver_.launch(loop_, spec(true, prepared.disk), deadline));
    if (image.vmm != prepared.vmm->version()) {
      return make_error(ErrorCode::failed_precondition, "the machine was saved by " + image.vmm + "; this host has " + prepared.vmm->version() +
                                                            ", which may read such a state wrongly");
    }
    if (!image.delta.empty()) {
      HARENA_TRY(const auto address, find_ram_mapping(prepared.vmm->pid(), path(ram_), image.ram_bytes));
      HARENA_TRY_STATUS(apply_delta(path(image.delta), prepared.vmm->pid(), address, image.ram_bytes));
    }
    return prepared.vmm->load_state(path(image.state), deadline);
  }();
  if (filled.ok()) return prepared;
  remove_files({prepared.overlay});
  return std::move(filled).error().during("starting a VMM from a machine's state");
}

Result<json> Machine::go_on(Prepared prepared, const MachineImage& image, session::LinkStart start, bool clone) {
  // From here on the folder is no image any more: its disk is written.
  HARENA_TRY_STATUS(MachineImage::forget(config_.vm_dir));
  disk_ = std::move(prepared.disk);
  (void)adopt_vmm(std::move(prepared.vmm), start);
  auto told = [&]() -> Result<json> {
    HARENA_TRY_STATUS(vmm_->run(monotonic_now_ns() + kStepPatienceNs));
    fault_point("machine.going_on");
    const auto reachable = [this] { return has_channel_ || state_ == State::ended; };
    HARENA_TRY_STATUS(loop_.run_until(reachable, monotonic_now_ns() + kStepPatienceNs, "the guest's channel"));
    HARENA_TRY(json renewed, renew(clone));
    HARENA_TRY_STATUS(thaw());
    return renewed;
  }();
  if (!told.ok()) {
    fail(told.error());
    return told;
  }
  if (state_ != State::ended) state_ = State::running;
  remove_files({image.state, image.delta});
  // Parents that the machine doesn't stand on: where disks are copied instead.
  for (const auto& file : image.disk) {
    const auto same = [&](const DiskFile& mine) { return mine.path == file.path; };
    if (std::none_of(disk_.begin(), disk_.end(), same)) remove_files({file.path});
  }
  return told;
}

Status Machine::open_endpoint() {
  if (state_ == State::ended) return why_ended_;
  HARENA_TRY(UniqueFd socket, vmm::listen_unix(config_.run_dir + "/session.sock", SOCK_STREAM, 512));
  bridge_->listen(std::move(socket));
  return {};
}

}  // namespace harena::microvm
