// harena-machine: one microVM. Started by the microvm plugin of harenad, which it outlives.
//
// Descriptors: 3 takes the result of the start (a line of JSON; while the machine stands by, it ends when nobody reads 3 any more), 4 is cgroup.procs of the group for this process, all further ones
// are files that a VMM's process writes "0" into to join the sandbox's groups.

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string_view>

#include "plugins/microvm/machine/firecracker_vmm.hpp"
#include "plugins/microvm/machine/machine.hpp"
#include "plugins/microvm/machine/qemu_vmm.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/process.hpp"
#include "sdk/vmm/control_server.hpp"
#include "sdk/vmm/user_pool.hpp"

namespace harena::microvm {
namespace {

constexpr int kReadyFd = 3;
constexpr int kOwnGroupFd = 4;
constexpr int kFirstGroupFd = 5;
constexpr int kMostGroups = 16;
/// After a guest was asked to power off, how much longer than its own grace it may take.
constexpr std::int64_t kPowerOffExtraMs = 5'000;

void say(int fd, const json& document) {
  const std::string text = document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  (void)!::write(fd, text.data(), text.size());
}

class Program {
 public:
  int run(const std::string& config_path);

 private:
  Status begin(const std::string& config_path);
  Result<json> serve(const json& request);
  Result<json> claim(const std::string& config_path);
  Status watch_reader();
  void write_end() const;

  std::unique_ptr<vmm::EventLoop> loop_;
  SystemRandom random_;
  MachineConfig config_;
  UniqueFd user_;  // nobody else's on this host, as long as this process lives
  std::unique_ptr<Machine> machine_;
  std::unique_ptr<vmm::ControlServer> control_;
  bool leave_ = false;
};

std::vector<int> group_files() {
  std::vector<int> files;
  for (int fd = kFirstGroupFd; fd < kFirstGroupFd + kMostGroups && ::fcntl(fd, F_GETFD) >= 0; ++fd) {
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    files.push_back(fd);
  }
  return files;
}

Status Program::begin(const std::string& config_path) {
  auto groups = group_files();  // before anything else is opened behind them
  if (::write(kOwnGroupFd, "0", 1) != 1) return errno_error(errno, "joining the platform's cgroup");
  ::close(kOwnGroupFd);
  HARENA_TRY(const std::string text, read_file_at(AT_FDCWD, config_path));
  HARENA_TRY(config_, MachineConfig::parse(text));
  HARENA_TRY(user_, vmm::hold_user(config_.uid));
  HARENA_TRY(loop_, vmm::EventLoop::make());
  HARENA_TRY(control_, vmm::ControlServer::listen(*loop_, config_.run_dir + "/machine.sock"));
  machine_ = std::make_unique<Machine>(*loop_, random_, config_, std::move(groups),
                                       config_.vmm == "firecracker" ? firecracker_driver() : qemu_driver());
  HARENA_TRY(json told, machine_->start());
  say(kReadyFd, {{"ok", told}});
  return watch_reader();
}

/// A machine that stands by, or that a template is made of, belongs to the daemon that started it, and goes when that dies.
Status Program::watch_reader() {
  if (!config_.tied) {
    ::close(kReadyFd);
    return {};
  }
  return loop_->watch(kReadyFd, 0, [this](std::uint32_t) { leave_ = true; });  // EPOLLERR is always told
}

Result<json> Program::claim(const std::string& config_path) {
  HARENA_TRY(const std::string text, read_file_at(AT_FDCWD, config_path));
  HARENA_TRY(config_, MachineConfig::parse(text));
  loop_->unwatch(kReadyFd);
  ::close(kReadyFd);
  return machine_->claim(config_);
}

Result<json> Program::serve(const json& request) {
  const std::string verb = request.value("verb", "");
  if (verb == "stand_by") return machine_->stand_by();
  if (verb == "claim") return claim(request.value("config", ""));
  if (verb == "status") return machine_->status();
  if (verb == "pause") return machine_->pause();
  if (verb == "resume") return machine_->resume();
  if (verb == "snapshot") return machine_->snapshot(request.value("folder", ""));
  if (verb == "rollback") return machine_->rollback(request.value("folder", ""));
  if (verb == "metrics") return machine_->metrics();
  if (verb == "console") return json{{"text", machine_->console()}};
  if (verb == "power_off") {
    const std::int64_t grace_ms = request.value("grace_ms", std::int64_t{0});
    HARENA_TRY(const json asked, machine_->power_off(grace_ms));
    const std::int64_t deadline = monotonic_now_ns() + (grace_ms + kPowerOffExtraMs) * 1'000'000;
    (void)loop_->run_until([&] { return machine_->state() == Machine::State::ended; }, deadline, "the guest's end");
    leave_ = true;
    return asked;
  }
  return make_error(ErrorCode::unimplemented, "a machine has no verb '" + verb + "'");
}

/// What the plugin reads when it finds that this process is gone.
void Program::write_end() const {
  UniqueFd folder(::open(config_.vm_dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const Error& why = machine_->why_ended();
  const json document = {{"cause", to_string(why.cause)}, {"cause_detail", why.cause_detail}, {"detail", why.message}};
  const std::string text = document.dump(-1, ' ', false, json::error_handler_t::replace);
  (void)create_file_at(folder.get(), "exit.json", text, 0600);
  (void)create_file_at(folder.get(), "console.txt", machine_->console(), 0600);
}

int Program::run(const std::string& config_path) {
  if (Status begun = begin(config_path); !begun.ok()) {
    say(kReadyFd, {{"error", vmm::control_error(begun.error())}});
    return 1;
  }
  const auto something = [this] { return leave_ || control_->waiting() || machine_->state() == Machine::State::ended; };
  while (!leave_) {
    if (!loop_->run_until(something, 0, "a request").ok()) return 1;
    if (leave_ || machine_->state() == Machine::State::ended) break;
    control_->serve([this](const json& request) { return serve(request); });
  }
  if (!leave_) write_end();
  return 0;
}

}  // namespace
}  // namespace harena::microvm

int main(int argc, char** argv) {
  if (argc != 3 || std::string_view(argv[1]) != "--config" || ::fcntl(harena::microvm::kReadyFd, F_GETFD) < 0) {
    std::fprintf(stderr, "harena-machine is started by the microvm plugin: harena-machine --config FILE, with descriptors from 3 on\n");
    return 2;
  }
  ::fcntl(harena::microvm::kReadyFd, F_SETFD, FD_CLOEXEC);
  ::signal(SIGPIPE, SIG_IGN);
  ::prctl(PR_SET_DUMPABLE, 0);
  return harena::microvm::Program().run(argv[2]);
}
