// resize: other limits for a sandbox that lives. What can be put back is changed first, a disk, which may not become smaller again, last. Its
// size is looked at as it is, not as it was told: a resize that failed may be taken back before its disk has grown.

#include "plugins/container/backend.hpp"
#include "plugins/container/backend_errors.hpp"
#include "plugins/container/live_change.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/support/process.hpp"

namespace harena::container {
namespace {

constexpr std::int64_t kPatienceNs = 10'000'000'000;

}  // namespace

Result<json> ContainerBackend::resize(const Call& call, std::string_view sandbox_id, const json& request) {
  HARENA_TRY_STATUS(check_id(sandbox_id));
  const std::string id(sandbox_id);
  const auto record = record_of(id);
  if (!record || record->creating || record->ended) return unknown_sandbox(sandbox_id);
  const json& before = request.at("before");
  const json& after = request.at("params");
  HARENA_TRY_STATUS(check_live_change(before, after));
  HARENA_TRY(const auto old_parameters, parse_parameters(before));
  HARENA_TRY(const auto parameters, parse_parameters(after));
  HARENA_TRY_STATUS(call.check());
  HARENA_TRY(Engine* engine, this->engine());
  const DiskPlace place{record->state.state_dir, record->state.first_id};
  if (parameters.disk_bytes < old_parameters.disk_bytes) HARENA_TRY_STATUS(engine->disks->check_size(place, parameters.disk_bytes));
  HARENA_TRY(const auto old_limits, limits_here(*engine, old_parameters, record->state.state_dir));
  HARENA_TRY(const auto limits, limits_here(*engine, parameters, record->state.state_dir));
  const std::int64_t deadline = monotonic_now_ns() + kPatienceNs;
  HARENA_TRY(const auto missing, engine->cgroups.resize_sandbox(id, old_limits, limits, settings_.allow_missing_limits, deadline));
  fault_point("resize.cgroups");
  if (parameters.disk_bytes != old_parameters.disk_bytes) {
    Status grown = engine->disks->resize(place, parameters.disk_bytes, parameters.inodes);
    if (!grown.ok()) {
      (void)engine->cgroups.resize_sandbox(id, limits, old_limits, settings_.allow_missing_limits, deadline);
      return std::move(grown).error();
    }
    fault_point("resize.disk");
  }
  HARENA_TRY(auto group, engine->cgroups.open_sandbox(id));
  HARENA_TRY_STATUS(place_again(group, id, parameters, record->state.init));
  json details = request.value("details", json::object());
  details["missing_limits"] = missing_after(details, parameters, missing);
  SandboxState state = record->state;
  if (state.disk_bytes > 0) state.disk_bytes = parameters.disk_bytes;  // of the disk that a rollback makes
  std::lock_guard lock(mutex_);
  records_[id].state = state;
  return json{{"state", state.encode()}, {"details", details}};
}

}  // namespace harena::container
