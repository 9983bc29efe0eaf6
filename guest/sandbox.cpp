#include "guest/sandbox.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "guest/control_group.hpp"
#include "guest/disks.hpp"
#include "guest/early_boot.hpp"
#include "guest/identity.hpp"
#include "guest/metrics.hpp"
#include "guest/shim_call.hpp"
#include "guest/writable_disk.hpp"
#include "sdk/session/hello.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/process.hpp"
#include "sdk/support/resource_limit.hpp"

namespace harena::guest {
namespace {

using namespace session;

/// What a sandbox needs at least; a machine with less than this and the reserve can't hold one.
constexpr std::uint64_t kLeastMemoryBytes = 8 << 20;
constexpr std::size_t kMostLayers = 64;

Status check(const ConfigureRequest& request) {
  if (request.sandbox.empty()) return make_error(ErrorCode::invalid_argument, "sandbox: its id is missing");
  if (request.layers.empty() || request.layers.size() > kMostLayers) {
    return make_error(ErrorCode::invalid_argument, "layers: " + std::to_string(request.layers.size()) + " of them; 1 to 64 are right");
  }
  for (const auto& layer : request.layers) {
    auto device = disk_with_serial(layer);
    if (!device.ok()) return std::move(device).error();
  }
  for (const auto& limit : request.rlimits) {
    if (auto parsed = ResourceLimit::parse(limit); !parsed.ok()) return std::move(parsed).error();
  }
  for (const auto& [name, value] : request.environment) {
    if (!name.empty() && name.find('=') == std::string::npos) continue;
    return make_error(ErrorCode::invalid_argument, "environment '" + name + "': a name without '=' is right");
  }
  const auto memory = machine_memory_bytes();
  if (request.reserved_memory_bytes + kLeastMemoryBytes > memory) {
    return make_error(ErrorCode::invalid_argument, "reserved_memory_bytes " + std::to_string(request.reserved_memory_bytes) +
                                                       ": the machine has " + std::to_string(memory) + ", and 8 MiB of it must be left");
  }
  return check_identity(request.identity);
}

std::string kernel_release() {
  utsname name{};
  ::uname(&name);
  return name.release;
}

/// The number behind "key": in flat JSON of our own making.
long number_of(const std::string& json, const std::string& key) {
  const auto at = json.find("\"" + key + "\":");
  return at == std::string::npos ? 0 : std::strtol(json.c_str() + at + key.size() + 3, nullptr, 10);
}

}  // namespace

WaitAnswer parse_end_record(const std::string& json) {
  WaitAnswer end;
  const std::string key = "\"cause\":\"";
  const auto at = json.find(key);
  const auto until = at == std::string::npos ? at : json.find('"', at + key.size());
  end.cause = until == std::string::npos ? "shim" : json.substr(at + key.size(), until - at - key.size());
  end.exit_code = static_cast<std::int32_t>(number_of(json, "exit_code"));
  end.signal = static_cast<std::int32_t>(number_of(json, "signal"));
  end.oom_kills = static_cast<std::uint64_t>(number_of(json, "oom_kills"));
  return end;
}

Result<ConfigureAnswer> Sandbox::configure(const ConfigureRequest& request) {
  if (configured_) {
    // Time and entropy are new in every repetition; they don't make it another request.
    auto again = request;
    again.identity.wall_ns = configured_->identity.wall_ns;
    again.identity.entropy = configured_->identity.entropy;
    if (answer_ && again == *configured_) return *answer_;
    return make_error(ErrorCode::failed_precondition, answer_ ? "the machine is configured already, for sandbox '" + configured_->sandbox + "'"
                                                              : "an earlier configuration of this machine failed; it has to be started anew");
  }
  HARENA_TRY_STATUS(check(request));
  configured_ = request;
  HARENA_TRY(answer_, build(request));
  return *answer_;
}

Result<ConfigureAnswer> Sandbox::build(const ConfigureRequest& request) {
  const auto begin = monotonic_now_ns();
  HARENA_TRY(auto step, set_wall_clock(request.identity.wall_ns));
  (void)step;
  HARENA_TRY_STATUS(add_entropy(request.identity.entropy));
  std::string disk;
  if (!request.disk.empty()) {
    HARENA_TRY(disk, disk_with_serial(request.disk));
  }
  HARENA_TRY_STATUS(mount_writable_disk(disk, request.memory_disk_bytes));
  HARENA_TRY(group_, make_sandbox_group({request.pids_max, machine_memory_bytes() - request.reserved_memory_bytes}));
  HARENA_TRY(running_, start_sandbox(request, group_.get()));
  close_kernel_doors();
  ConfigureAnswer answer;
  answer.kernel = kernel_release();
  answer.build = HARENA_VERSION;
  answer.kernel_us = boot_.kernel_us;
  answer.agent_us = boot_.agent_us;
  answer.configure_us = static_cast<std::uint64_t>(monotonic_now_ns() - begin) / 1000;
  return answer;
}

Status Sandbox::must_run() const {
  if (!running_) return make_error(ErrorCode::failed_precondition, "the machine isn't configured yet");
  if (ended_) return make_error(ErrorCode::failed_precondition, "the sandbox has ended");
  return {};
}

Status Sandbox::freeze(const FreezeRequest& request) {
  HARENA_TRY_STATUS(must_run());
  return freezer_.freeze(request.filesystems);
}

Status Sandbox::thaw() {
  HARENA_TRY_STATUS(must_run());
  return freezer_.thaw();
}

Result<RenewAnswer> Sandbox::renew(const RenewRequest& request) {
  HARENA_TRY_STATUS(must_run());
  HARENA_TRY_STATUS(check_identity(request.identity));
  HARENA_TRY(auto answer, renew_identity(request.identity, running_->init));
  if (!request.sandbox.empty()) {
    RenameRequest rename;
    rename.sandbox = request.sandbox;
    HARENA_TRY_STATUS(tell_shim(FrameType::rename, encode(rename)));
    answer.renewed.push_back("sandbox");
  }
  return answer;
}

Result<MetricsAnswer> Sandbox::metrics() const {
  if (!running_) return make_error(ErrorCode::failed_precondition, "the machine isn't configured yet");
  auto answer = read_metrics();
  answer.frozen = freezer_.frozen();
  return answer;
}

Status Sandbox::shut_down(std::uint32_t grace_ms) {
  HARENA_TRY_STATUS(must_run());
  // What stands still can't end.
  HARENA_TRY_STATUS(freezer_.thaw());
  ShutdownRequest request;
  request.grace_ms = grace_ms;
  if (tell_shim(FrameType::shutdown, encode(request)).ok()) return {};
  // Our own child, not waited for yet: the pid is nobody else's.
  return ::kill(running_->shim, SIGTERM) == 0 ? Status() : Status(errno_error(errno, "end the shim"));
}

bool Sandbox::on_child_end(pid_t pid) {
  if (!running_ || pid != running_->shim) return false;
  ended_ = true;
  return true;
}

WaitAnswer Sandbox::end() const {
  auto record = read_file_at(AT_FDCWD, std::string(kSessionFolder) + "/exit.json");
  return parse_end_record(record.ok() ? *record : "");
}

}  // namespace harena::guest
