// harena-qemu-machine: one full machine. Started by the qemu plugin of harenad, which it outlives.
//
// Descriptors: 3 takes the result of the start (JSON, then its end), 4 is cgroup.procs of the group for this process, all further ones
// are files that QEMU's process writes "0" into to join the sandbox's groups.

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string_view>

#include "plugins/qemu/machine/machine.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/process.hpp"
#include "sdk/vmm/control_server.hpp"
#include "sdk/vmm/user_pool.hpp"

namespace harena::qemu {
namespace {

constexpr int kReadyFd = 3;
constexpr int kOwnGroupFd = 4;
constexpr int kFirstGroupFd = 5;
constexpr int kMostGroups = 16;

void say(int fd, const json& document) {
  const std::string text = document.dump(-1, ' ', false, json::error_handler_t::replace);
  (void)!::write(fd, text.data(), text.size());
}

std::vector<int> group_files() {
  std::vector<int> files;
  for (int fd = kFirstGroupFd; fd < kFirstGroupFd + kMostGroups && ::fcntl(fd, F_GETFD) >= 0; ++fd) {
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    files.push_back(fd);
  }
  return files;
}

class Program {
 public:
  int run(const std::string& config_path);

 private:
  Status begin(const std::string& config_path);
  Result<json> serve(const json& request);
  Result<json> power_off(std::int64_t grace_ms);
  void write_end();

  std::unique_ptr<vmm::EventLoop> loop_;
  MachineConfig config_;
  UniqueFd user_;  // nobody else's on this host, as long as this process lives
  std::unique_ptr<vmm::ControlServer> control_;
  std::unique_ptr<Machine> machine_;
  bool leave_ = false;
};

Status Program::begin(const std::string& config_path) {
  auto groups = group_files();  // before anything else is opened behind them
  if (::write(kOwnGroupFd, "0", 1) != 1) return errno_error(errno, "joining the platform's cgroup");
  ::close(kOwnGroupFd);
  HARENA_TRY(const std::string text, read_file_at(AT_FDCWD, config_path));
  HARENA_TRY(config_, MachineConfig::parse(text));
  HARENA_TRY(user_, vmm::hold_user(config_.uid));
  HARENA_TRY(loop_, vmm::EventLoop::make());
  HARENA_TRY(control_, vmm::ControlServer::listen(*loop_, config_.run_dir + "/machine.sock"));
  machine_ = std::make_unique<Machine>(*loop_, config_, std::move(groups));
  HARENA_TRY(const json told, machine_->start());
  say(kReadyFd, {{"ok", told}});
  return {};
}

Result<json> Program::power_off(std::int64_t grace_ms) {
  HARENA_TRY_STATUS(machine_->power_down());
  const bool in_time = loop_->run_until([&] { return machine_->ended(); }, monotonic_now_ns() + grace_ms * 1'000'000,
      "the guest's end").ok();
  leave_ = true;
  return json{{"in_time", in_time}};
}

Result<json> Program::serve(const json& request) {
  if (machine_->ended()) return machine_->why_ended();
  const std::string verb = request.value("verb", "");
  if (verb == "status") return machine_->status();
  if (verb == "pause") return machine_->pause();
  if (verb == "resume") return machine_->resume();
  if (verb == "snapshot") return machine_->snapshot(request.at("tag").get<std::string>(), request.at("folder").get<std::string>());
  if (verb == "rollback") return machine_->rollback(request.at("folder").get<std::string>());
  if (verb == "forget_snapshot") return machine_->forget_snapshot(request.at("tag").get<std::string>());
  if (verb == "copy_files") return machine_->copy_files(request.at("folder").get<std::string>(), request.at("to").get<std::string>());
  if (verb == "resize") return machine_->resize(request.at("cpus").get<int>(), request.at("memory_bytes").get<std::int64_t>());
  if (verb == "power_off") return power_off(request.value("grace_ms", std::int64_t{0}));
  return make_error(ErrorCode::unimplemented, "a full machine has no verb '" + verb + "'");
}

/// What the plugin reads when it finds that this process is gone.
void Program::write_end() {
  const Error why = machine_->why_ended();
  const json document = {{"cause", to_string(why.cause)}, {"cause_detail", why.cause_detail}, {"detail", why.message}};
  const std::string text = document.dump(-1, ' ', false, json::error_handler_t::replace);
  (void)create_file_at(AT_FDCWD, config_.vm_dir + "/exit.json", text, 0600);
  (void)create_file_at(AT_FDCWD, config_.vm_dir + "/console.txt", machine_->console(), 0600);
}

int Program::run(const std::string& config_path) {
  if (Status begun = begin(config_path); !begun.ok()) {
    say(kReadyFd, {{"error", vmm::control_error(begun.error())}});
    return 1;
  }
  ::close(kReadyFd);
  const auto something = [this] { return control_->waiting() || machine_->vnc_waiting() || machine_->ended(); };
  while (!leave_) {
    if (!loop_->run_until(something, 0, "a request").ok()) return 1;
    if (machine_->ended()) break;
    if (machine_->vnc_waiting()) machine_->serve_vnc();
    if (control_->waiting()) control_->serve([this](const json& request) { return serve(request); });
  }
  if (!leave_) write_end();
  return 0;
}

}  // namespace
}  // namespace harena::qemu

int main(int argc, char** argv) {
  if (argc != 3 || std::string_view(argv[1]) != "--config" || ::fcntl(harena::qemu::kReadyFd, F_GETFD) < 0) {
    std::fprintf(stderr, "harena-qemu-machine is started by the qemu plugin: harena-qemu-machine --config FILE, with descriptors from 3 on\n");
    return 2;
  }
  ::fcntl(harena::qemu::kReadyFd, F_SETFD, FD_CLOEXEC);
  ::signal(SIGPIPE, SIG_IGN);
  ::prctl(PR_SET_DUMPABLE, 0);
  return harena::qemu::Program().run(argv[2]);
}
