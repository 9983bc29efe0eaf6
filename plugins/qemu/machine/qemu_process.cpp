#include "plugins/qemu/machine/qemu_process.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "plugins/qemu/machine/qemu_arguments.hpp"
#include "sdk/support/files.hpp"
#include "sdk/vmm/jail.hpp"

namespace harena::qemu {
namespace {

constexpr std::size_t kShownLogBytes = 600;

Result<UniqueFd> open_file(const std::string& path, int flags) {
  UniqueFd file(::open(path.c_str(), flags | O_CLOEXEC, 0600));
  if (!file) return errno_error(errno, "opening " + path);
  return file;
}

/// What the child needs, all made before the fork.
struct Launch {
  std::vector<UniqueFd> owned;  // in order: numbered from vmm::kFirstPassedFd on
  QemuDescriptors numbers;

  int pass(UniqueFd fd) {
    owned.push_back(std::move(fd));
    return vmm::kFirstPassedFd + static_cast<int>(owned.size()) - 1;
  }
  Status pass_file(const std::string& path, int flags, int& number) {
    if (path.empty()) return {};
    HARENA_TRY(UniqueFd file, open_file(path, flags));
    number = pass(std::move(file));
    return {};
  }
};

/// One end stays here, the other is passed.
Result<UniqueFd> pass_socket(Launch& launch, int& number) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno_error(errno, "socketpair");
  number = launch.pass(UniqueFd(ends[1]));
  return UniqueFd(ends[0]);
}

Status open_files(const MachineConfig& config, Launch& launch) {
  for (std::size_t i = 0; i < config.disks.size(); ++i) {
    launch.numbers.bases.push_back(-1);
    launch.numbers.tops.push_back(-1);
    HARENA_TRY_STATUS(launch.pass_file(config.disks[i].image, O_RDONLY | O_NOFOLLOW, launch.numbers.bases[i]));
    HARENA_TRY_STATUS(launch.pass_file(config.vm_dir + "/" + disk_file(config, i), O_RDWR, launch.numbers.tops[i]));
  }
  HARENA_TRY_STATUS(launch.pass_file(config.iso, O_RDONLY | O_NOFOLLOW, launch.numbers.iso));
  HARENA_TRY_STATUS(launch.pass_file(config.firmware_code, O_RDONLY, launch.numbers.firmware_code));
  if (!config.firmware_code.empty()) {
    HARENA_TRY_STATUS(launch.pass_file(config.vm_dir + "/" + kVariablesFile, O_RDWR, launch.numbers.firmware_vars));
  }
  if (config.has_cloud_init) HARENA_TRY_STATUS(launch.pass_file(config.vm_dir + "/" + kSeedFile, O_RDONLY, launch.numbers.seed));
  return {};
}

vmm::JailSpec jail_of(const MachineConfig& config, const std::vector<int>& group_files) {
  vmm::JailSpec jail{.root_dir = config.run_dir + "/jail", .program = config.qemu, .folders = vmm::qemu_folders(), .uid = config.uid,
                     .group_files = group_files};
  if (config.kvm) jail.devices.push_back("kvm");
  if (!config.kernel.empty()) jail.files.push_back({config.kernel, kJailKernel});
  if (!config.initramfs.empty()) jail.files.push_back({config.initramfs, kJailInitramfs});
  return jail;
}

}  // namespace

Result<std::unique_ptr<QemuProcess>> QemuProcess::start(vmm::EventLoop& loop, const MachineConfig& config,
    const std::vector<int>& group_files,
                                                        std::int64_t deadline_ns) {
  std::unique_ptr<QemuProcess> made(new QemuProcess());
  Launch launch;
  HARENA_TRY(UniqueFd qmp, pass_socket(launch, launch.numbers.qmp));
  HARENA_TRY(made->console_, pass_socket(launch, launch.numbers.console));
  HARENA_TRY_STATUS(open_files(config, launch));
  made->log_path_ = config.vm_dir + "/qemu.log";
  HARENA_TRY(UniqueFd log, open_file(made->log_path_, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND));
  HARENA_TRY(UniqueFd null, open_file("/dev/null", O_RDWR));
  const auto jail = jail_of(config, group_files);
  const auto arguments = qemu_arguments(config, launch.numbers);
  std::vector<int> passed;
  for (const auto& fd : launch.owned) passed.push_back(fd.get());
  const pid_t self = ::getpid();
  // This process is small and single-threaded: a fork copies little, and the child may use the heap.
  made->pid_ = ::fork();
  if (made->pid_ < 0) return errno_error(errno, "fork of QEMU");
  if (made->pid_ == 0) vmm::exec_in_jail({jail, arguments, passed, null.get(), log.get(), self});
  made->pidfd_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, made->pid_, 0)));
  if (!made->pidfd_) return errno_error(errno, "pidfd_open");
  launch.owned.clear();
  auto client = vmm::QmpClient::start(loop, std::move(qmp), deadline_ns);
  if (!client.ok()) return std::move(client).error().during("starting QEMU, which says: " + made->log());
  made->qmp_ = std::move(*client);
  return made;
}

QemuProcess::~QemuProcess() {
  if (pid_ <= 0 || !ended().empty()) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::string QemuProcess::ended() {
  int status = 0;
  if (pid_ > 0 && ended_.empty() && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    ended_ = WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status)) : "exit " + std::to_string(WEXITSTATUS(status));
  }
  return ended_;
}

std::string QemuProcess::log() const {
  auto text = read_file_at(AT_FDCWD, log_path_, 64 << 10);
  if (!text.ok() || text->empty()) return "nothing";
  return text->size() > kShownLogBytes ? text->substr(text->size() - kShownLogBytes) : *text;
}

}  // namespace harena::qemu
