// resize: more CPUs and memory for a machine that runs. The guest must take them; limits of the host follow.

#include <algorithm>

#include "plugins/qemu/backend.hpp"
#include "plugins/qemu/errors.hpp"
#include "plugins/qemu/parameters.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/support/process.hpp"

namespace harena::qemu {
namespace {

constexpr std::int64_t kLimitsPatienceNs = 10'000'000'000;
constexpr std::int64_t kPlugPatienceMs = 4'000'000;  // 64 CPUs, each within its time

}  // namespace

/// Of a machine whose guest didn't take a piece: it may yet.
std::int64_t QemuBackend::memory_of(const std::string& id) {
  const auto told = ask(id, {{"verb", "status"}}, kKeepPatienceMs);
  return told.ok() ? told->value("memory_bytes", std::int64_t{0}) : 0;
}

Result<json> QemuBackend::resize(const Call& call, std::string_view sandbox_id, const json& request) {
  const std::string id(sandbox_id);
  HARENA_TRY_STATUS(check_id(id));
  const auto record = record_of(id);
  if (!record || record->creating) return unknown_sandbox(id);
  const json& before = request.at("before");
  const json& after = request.at("params");
  HARENA_TRY_STATUS(check_only_size_changes(before, after));
  HARENA_TRY(const auto old_size, read_size(before));
  HARENA_TRY(const auto size, read_size(after));
  HARENA_TRY_STATUS(call.check());
  HARENA_TRY(Engine* engine, this->engine());
  // A piece that wasn't taken in time, or a snapshot that was gone back to: the guest may have more than the record says.
  const std::int64_t has = memory_of(id);
  const CgroupLimits old_limits = limits_of(old_size.cpu_millicores, std::max(old_size.memory_bytes, has));
  // Room first: a guest that has more memory than its group may hold is ended when it uses it.
  const CgroupLimits room = limits_of(std::max(size.cpu_millicores, old_size.cpu_millicores),
                                      std::max({size.memory_bytes, old_size.memory_bytes, has}));
  HARENA_TRY_STATUS(engine->cgroups.resize_sandbox(id, old_limits, room, {}, monotonic_now_ns() + kLimitsPatienceNs));
  fault_point("qemu.resize.room");
  auto told = ask(id, {{"verb", "resize"}, {"cpus", size.cpus}, {"memory_bytes", size.memory_bytes}}, kPlugPatienceMs);
  fault_point("qemu.resize.plugged");
  const std::int64_t now = memory_of(id);
  const CgroupLimits limits = told.ok() ? limits_of(size.cpu_millicores, std::max(size.memory_bytes, now))
                                        : limits_of(old_size.cpu_millicores, std::max(old_size.memory_bytes, now));
  HARENA_TRY_STATUS(engine->cgroups.resize_sandbox(id, room, limits, {}, monotonic_now_ns() + kLimitsPatienceNs));
  if (!told.ok()) return std::move(told).error();
  json details = request.value("details", json::object());
  details["size"] = *told;
  return json{{"details", details}};
}

}  // namespace harena::qemu
