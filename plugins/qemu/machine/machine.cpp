#include "plugins/qemu/machine/machine.hpp"

#include <sys/epoll.h>

#include "plugins/qemu/machine/qemu_arguments.hpp"
#include "sdk/support/process.hpp"
#include "sdk/vmm/unix_listener.hpp"

namespace harena::qemu {
namespace {

constexpr std::int64_t kStepNs = 30'000'000'000;
constexpr std::int64_t kStartNs = 60'000'000'000;
constexpr std::size_t kMaxVncWaiting = 8;

}  // namespace

Machine::Machine(vmm::EventLoop& loop, MachineConfig config, std::vector<int> group_files)
    : loop_(loop), config_(std::move(config)), group_files_(std::move(group_files)) {}

Machine::~Machine() {
  if (vnc_listener_) loop_.unwatch(vnc_listener_.get());
}

Result<json> Machine::start() {
  const bool restored = !config_.restore_tag.empty();
  if (!restored) {
    HARENA_TRY_STATUS(make_disks());
    HARENA_TRY_STATUS(make_seed());
  }
  HARENA_TRY_STATUS(launch());
  if (config_.display) HARENA_TRY_STATUS(listen_vnc());
  if (restored) {
    HARENA_TRY_STATUS(check_version(config_.restore_vmm));
    HARENA_TRY_STATUS(go_on_from(config_.restore_tag));
    HARENA_TRY_STATUS(keep_tag_alone());
    HARENA_TRY_STATUS(command("cont"));
  }
  return json{{"vmm", "qemu " + qemu_->qmp().version()}, {"vmm_pid", qemu_->pid()}};
}

Status Machine::launch() {
  HARENA_TRY(qemu_, QemuProcess::start(loop_, config_, group_files_, monotonic_now_ns() + kStartNs));
  if (console_) {
    HARENA_TRY_STATUS(console_->attach(qemu_->console()));
  } else {
    HARENA_TRY(console_, ConsoleHub::open(loop_, qemu_->console(), config_.run_dir + "/console.sock"));
  }
  return loop_.watch(qemu_->pidfd(), EPOLLIN, [this](std::uint32_t) {
    loop_.unwatch(qemu_->pidfd());
    (void)qemu_->ended();
  });
}

Status Machine::listen_vnc() {
  HARENA_TRY(vnc_listener_, vmm::listen_unix(config_.run_dir + "/vnc.sock"));
  return loop_.watch(vnc_listener_.get(), EPOLLIN, [this](std::uint32_t) {
    UniqueFd peer = vmm::accept_own(vnc_listener_.get());
    if (peer && vnc_clients_.size() < kMaxVncWaiting) vnc_clients_.push_back(std::move(peer));
  });
}

void Machine::serve_vnc() {
  UniqueFd client = std::move(vnc_clients_.front());
  vnc_clients_.pop_front();
  const int fd = client.get();
  const std::int64_t deadline = monotonic_now_ns() + kStepNs;
  // A client that QEMU doesn't take sees its connection end.
  auto given = qemu_->qmp().execute("getfd", {{"fdname", "vnc"}}, deadline, std::span<const int>(&fd, 1));
  if (given.ok()) (void)qemu_->qmp().execute("add_client", {{"protocol", "vnc"}, {"fdname", "vnc"}, {"skipauth", true}}, deadline);
}

Result<json> Machine::command(const std::string& name, const json& arguments) {
  return qemu_->qmp().execute(name, arguments, monotonic_now_ns() + kStepNs);
}

Result<json> Machine::status() {
  HARENA_TRY(const json told, command("query-status"));
  return json{{"state", told.value("running", false) ? "running" : "paused"}, {"status", told.value("status", "")},
              {"memory_bytes", config_.all_memory_bytes()}};
}

Result<json> Machine::pause() {
  HARENA_TRY_STATUS(command("stop"));
  return json::object();
}

Result<json> Machine::resume() {
  HARENA_TRY_STATUS(command("cont"));
  return json::object();
}

Status Machine::power_down() {
  HARENA_TRY_STATUS(command("cont"));  // a paused guest would never hear of it
  HARENA_TRY_STATUS(command("system_powerdown"));
  return {};
}

Error Machine::why_ended() {
  if (failed_) return *failed_;
  console_->drain();
  const std::string how = qemu_->ended();
  const json event = qemu_->qmp().last_event("SHUTDOWN");
  if (how == "exit 0" && event.is_object() && event.value("guest", false)) {
    Error by_guest = make_error(ErrorCode::failed_precondition, "the guest ended its machine: " + event.value("reason", "?"));
    by_guest.cause_detail = "guest";
    return by_guest;
  }
  return infrastructure_error(ErrorCode::unavailable, "vmm", "QEMU ended: " + how + "; it says: " + qemu_->log());
}

}  // namespace harena::qemu
