// CPUs and memory that are plugged into a machine while it runs.

#include "plugins/qemu/machine/machine.hpp"
#include "plugins/qemu/machine/qemu_arguments.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/support/process.hpp"

namespace harena::qemu {
namespace {

/// A guest answers within a second or two; under emulation, it may be several times slower on a busy host.
constexpr std::int64_t kTakePatienceNs = 20'000'000'000;
constexpr std::int64_t kEmulatedTakePatienceNs = 60'000'000'000;
constexpr std::int64_t kStepBytes = std::int64_t{128} << 20;
/// ACPI 6.4, 6.3.5 _OST: status codes of an insertion.
constexpr int kTaken = 0;
constexpr int kInProgress = 0x80;
constexpr const char* kAnswer = "ACPI_DEVICE_OST";

int number_of(const nlohmann::json& document, const char* key) {
  const auto found = document.find(key);
  return found != document.end() && found->is_number_integer() ? found->get<int>() : -1;
}

}  // namespace

Status Machine::wait_until_taken(const std::string& id) {
  const std::int64_t patience = config_.kvm ? kTakePatienceNs : kEmulatedTakePatienceNs;
  const std::int64_t deadline = monotonic_now_ns() + patience;
  while (true) {
    const int seen = qemu_->qmp().event_count(kAnswer);
    HARENA_TRY(const json slots, command("query-acpi-ospm-status"));
    for (const auto& slot : slots) {
      if (!slot.is_object() || slot.value("device", json()) != id || number_of(slot, "source") <= 0) continue;
      const int status = number_of(slot, "status");
      if (status == kTaken) return {};
      if (status >= kInProgress) continue;
      return make_error(ErrorCode::failed_precondition, "the guest refused " + id + " (ACPI's _OST says " + std::to_string(status) + ")");
    }
    const auto changed = [&] { return qemu_->qmp().event_count(kAnswer) != seen || ended(); };
    // A guest may answer "in progress" for ever: the time is looked at even when there is something new.
    if (monotonic_now_ns() < deadline && loop_.run_until(changed, deadline, id).ok() && !ended()) continue;
    if (ended()) return why_ended();
    return make_error(ErrorCode::failed_precondition, "the guest didn't take " + id + " within " +
        std::to_string(patience / 1'000'000'000) +
                                                          " s: its kernel has no ACPI hotplug, or isn't up");
  }
}

Status Machine::plug(const json& object, const json& device, std::int64_t memory_bytes) {
  if (!object.empty()) HARENA_TRY_STATUS(command("object-add", object));
  auto added = command("device_add", device);
  if (!added.ok()) {
    if (!object.empty()) (void)command("object-del", {{"id", object.at("id")}});
    return std::move(added).error();
  }
  config_.plugged.push_back({object.empty() ? "" : object.dump(), device.dump(), memory_bytes});
  return {};
}

Status Machine::plug_cpu() {
  HARENA_TRY(const json places, command("query-hotpluggable-cpus"));
  // QEMU names them from the last to the first; those that are there have a path.
  for (auto place = places.rbegin(); place != places.rend(); ++place) {
    if (!place->is_object() || place->contains("qom-path") || !place->contains("props") || !(*place)["props"].is_object()) continue;
    json device = (*place)["props"];
    device["driver"] = place->value("type", "");
    device["id"] = "cpu" + std::to_string(config_.all_cpus());
    return plug(json::object(), device, 0);
  }
  return make_error(ErrorCode::failed_precondition, "the machine has no place for another CPU");
}

Status Machine::plug_memory(std::int64_t bytes) {
  const std::string number = std::to_string(config_.plugged.size());
  const json object = {{"qom-type", "memory-backend-ram"}, {"id", "ram" + number}, {"size", bytes}};
  return plug(object, {{"driver", "pc-dimm"}, {"id", "memory" + number}, {"memdev", "ram" + number}}, bytes);
}

Status Machine::check_size(std::int64_t memory_bytes) const {
  const std::int64_t now = config_.all_memory_bytes(), more = memory_bytes - now;
  if (more == 0) return {};
  const std::string is = "parameter 'memory' is " + std::to_string(memory_bytes) + " bytes; ";
  if (more < 0) {
    return make_error(ErrorCode::invalid_argument, is + "the guest has " + std::to_string(now) +
        ", which can't be taken from it; as much or more is right");
  }
  if (memory_bytes > config_.max_memory_bytes) {
    return make_error(ErrorCode::invalid_argument, is + "the machine was made for at most " +
        std::to_string(config_.max_memory_bytes) + " ('memory_max')");
  }
  if (more % kStepBytes != 0) {
    return make_error(ErrorCode::invalid_argument, is + "memory grows by multiples of 128 MiB, here from " + std::to_string(now));
  }
  return {};
}

Result<json> Machine::resize(int cpus, std::int64_t memory_bytes) {
  if (cpus > config_.max_cpus) {
    return make_error(ErrorCode::invalid_argument, "parameter 'cpu' needs " + std::to_string(cpus) +
        " CPUs; the machine was made for at most " +
                                                       std::to_string(config_.max_cpus) + " ('cpu_max')");
  }
  // What the record says already was right once: the machine may have more by now, or less after a rollback.
  const bool same_memory = memory_bytes == config_.asked_memory_bytes;
  if (!same_memory) HARENA_TRY_STATUS(check_size(memory_bytes));
  HARENA_TRY(const bool runs, running());
  const bool grows = (cpus > config_.all_cpus() && cpus != config_.asked_cpus) ||
                     (memory_bytes > config_.all_memory_bytes() && !same_memory);
  if (grows && !runs) {
    return make_error(ErrorCode::failed_precondition, "the machine is paused; its guest takes CPUs and memory only while it runs");
  }
  if (runs) HARENA_TRY_STATUS(plug_missing(cpus, memory_bytes));
  config_.asked_cpus = cpus;
  config_.asked_memory_bytes = memory_bytes;
  return json{{"cpus", config_.all_cpus()}, {"memory_bytes", config_.all_memory_bytes()}};
}

/// What an earlier attempt put in is waited for again, if it is wanted.
Status Machine::wait_for_plugged(int cpus, std::int64_t memory_bytes) {
  int with_cpus = config_.cpus;
  std::int64_t with_bytes = config_.memory_bytes;
  for (const auto& one : config_.plugged) {
    const bool cpu = one.memory_bytes == 0;
    if (cpu ? cpus > with_cpus : memory_bytes > with_bytes) HARENA_TRY_STATUS(wait_until_taken(json::parse(one.device).at("id")));
    with_cpus += cpu ? 1 : 0;
    with_bytes += one.memory_bytes;
  }
  return {};
}

Status Machine::plug_missing(int cpus, std::int64_t memory_bytes) {
  HARENA_TRY_STATUS(wait_for_plugged(cpus, memory_bytes));
  while (config_.all_cpus() < cpus) {
    HARENA_TRY_STATUS(plug_cpu());
    fault_point("qemu.machine.resize.cpu");
    HARENA_TRY_STATUS(wait_until_taken(json::parse(config_.plugged.back().device).at("id")));
  }
  if (const std::int64_t more = memory_bytes - config_.all_memory_bytes(); more > 0) {
    HARENA_TRY_STATUS(plug_memory(more));
    HARENA_TRY_STATUS(wait_until_taken(json::parse(config_.plugged.back().device).at("id")));
  }
  return {};
}

}  // namespace harena::qemu
