#include "plugins/qemu/machine/machine.hpp"

#include <sys/epoll.h>

#include "plugins/qemu/machine/qemu_arguments.hpp"
#include "plugins/qemu/machine/unix_listener.hpp"
#include "sdk/support/process.hpp"

namespace harena::qemu {
namespace {

constexpr std::int64_t kStepNs = 30'000'000'000;
/// Writing or reading a machine's memory.
constexpr std::int64_t kSnapshotNs = 150'000'000'000;
constexpr std::size_t kMaxVncWaiting = 8;

}  // namespace

Machine::Machine(vmm::EventLoop& loop, MachineConfig config, std::vector<int> group_files)
    : loop_(loop), config_(std::move(config)), group_files_(std::move(group_files)) {}

Machine::~Machine() {
  if (vnc_listener_) loop_.unwatch(vnc_listener_.get());
  console_.reset();
}

Result<json> Machine::start() {
  HARENA_TRY_STATUS(make_disks());
  HARENA_TRY_STATUS(make_seed());
  HARENA_TRY(qemu_, QemuProcess::start(loop_, config_, group_files_, monotonic_now_ns() + config_.start_timeout_ms * 1'000'000));
  HARENA_TRY(console_, ConsoleHub::open(loop_, qemu_->console(), config_.run_dir + "/console.sock"));
  if (config_.display) HARENA_TRY_STATUS(listen_vnc());
  HARENA_TRY_STATUS(loop_.watch(qemu_->pidfd(), EPOLLIN, [this](std::uint32_t) {
    loop_.unwatch(qemu_->pidfd());
    (void)qemu_->ended();
  }));
  return json{{"vmm", "qemu " + qemu_->qmp().version()}, {"vmm_pid", qemu_->pid()}};
}

Status Machine::listen_vnc() {
  HARENA_TRY(vnc_listener_, listen_unix(config_.run_dir + "/vnc.sock"));
  return loop_.watch(vnc_listener_.get(), EPOLLIN, [this](std::uint32_t) {
    UniqueFd peer = accept_own(vnc_listener_.get());
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
  return json{{"state", told.value("running", false) ? "running" : "paused"}, {"status", told.value("status", "")}};
}

Result<json> Machine::pause() {
  HARENA_TRY(const json done, command("stop"));
  (void)done;
  return json::object();
}

Result<json> Machine::resume() {
  HARENA_TRY(const json done, command("cont"));
  (void)done;
  return json::object();
}

Status Machine::power_down() {
  HARENA_TRY(const json done, command("system_powerdown"));
  (void)done;
  return {};
}

json Machine::disk_nodes() const {
  json nodes = json::array();
  for (std::size_t i = 0; i < config_.disks.size(); ++i) nodes.push_back("disk" + std::to_string(i));
  return nodes;
}

/// A job of QEMU's, to its end; dismissed then.
Status Machine::job(const std::string& name, json arguments) {
  const std::string id = "job" + std::to_string(++jobs_);
  arguments["job-id"] = id;
  const std::int64_t deadline = monotonic_now_ns() + kSnapshotNs;
  HARENA_TRY(json told, command(name, arguments));
  const auto concluded = [&] {
    const json last = qemu_->qmp().last_event("JOB_STATUS_CHANGE");
    return (last.is_object() && last.value("id", "") == id && last.value("status", "") == "concluded") || ended();
  };
  HARENA_TRY_STATUS(loop_.run_until(concluded, deadline, "QEMU's " + name));
  if (ended()) return why_ended();
  HARENA_TRY(const json jobs, command("query-jobs"));
  HARENA_TRY(told, command("job-dismiss", {{"id", id}}));
  for (const auto& one : jobs) {
    if (one.value("id", "") != id || !one.contains("error")) continue;
    return infrastructure_error(ErrorCode::failed_precondition, "vmm", "QEMU's " + name + ": " + one["error"].dump().substr(0, 500));
  }
  return {};
}

Result<json> Machine::snapshot(const std::string& tag) {
  const json arguments = {{"tag", tag}, {"vmstate", kStateNode}, {"devices", disk_nodes()}};
  if (Status saved = job("snapshot-save", arguments); !saved.ok()) {
    if (!ended()) (void)delete_snapshot(tag);
    return saved.error();
  }
  return json::object();
}

Result<json> Machine::rollback(const std::string& tag) {
  HARENA_TRY(const json before, status());
  HARENA_TRY_STATUS(job("snapshot-load", {{"tag", tag}, {"vmstate", kStateNode}, {"devices", disk_nodes()}}));
  // A state that is loaded stands still; it goes on as the machine that it replaces did.
  if (before["state"] == "running") return resume();
  return json::object();
}

Result<json> Machine::delete_snapshot(const std::string& tag) {
  HARENA_TRY_STATUS(job("snapshot-delete", {{"tag", tag}, {"devices", disk_nodes()}}));
  return json::object();
}

Error Machine::why_ended() {
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
