#include "plugins/qemu/machine/snapshot_jobs.hpp"

#include <algorithm>

#include "sdk/support/process.hpp"

namespace harena::qemu {
namespace {

constexpr const char* kJob = "harena";
constexpr const char* kChange = "JOB_STATUS_CHANGE";

std::string text_of(const nlohmann::json& document, const char* key) {
  const auto found = document.find(key);
  return found != document.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

Result<std::string> SnapshotJobs::outcome(const std::string& job, std::int64_t deadline_ns) {
  while (true) {
    const int seen = qmp_.event_count(kChange);
    HARENA_TRY(const json jobs, qmp_.execute("query-jobs", json::object(), deadline_ns));
    for (const auto& one : jobs) {
      if (!one.is_object() || text_of(one, "id") != job || text_of(one, "status") != "concluded") continue;
      HARENA_TRY_STATUS(qmp_.execute("job-dismiss", {{"id", job}}, deadline_ns));
      return text_of(one, "error").substr(0, 500);
    }
    const auto changed = [&] { return qmp_.event_count(kChange) != seen || !qmp_.connected(); };
    HARENA_TRY_STATUS(loop_.run_until(changed, deadline_ns, "QEMU's job " + job));
  }
}

Status SnapshotJobs::run(const std::string& command, json arguments) {
  const std::int64_t deadline = monotonic_now_ns() + patience_ns_;
  arguments["job-id"] = kJob;
  arguments["devices"] = nodes_;
  HARENA_TRY_STATUS(qmp_.execute(command, arguments, deadline));
  HARENA_TRY(const std::string wrong, outcome(kJob, deadline));
  if (wrong.empty()) return {};
  return infrastructure_error(ErrorCode::unavailable, "disk", "QEMU's " + command + " failed: " + wrong);
}

Result<std::set<std::string>> SnapshotJobs::tags() {
  HARENA_TRY(const json nodes, qmp_.execute("query-named-block-nodes", {{"flat", true}}, monotonic_now_ns() + patience_ns_));
  std::set<std::string> found;
  for (const auto& node : nodes) {
    const bool ours = node.is_object() && std::find(nodes_.begin(), nodes_.end(), text_of(node, "node-name")) != nodes_.end();
    if (!ours || !node.contains("image") || !node["image"].is_object()) continue;
    for (const auto& one : node["image"].value("snapshots", json::array())) found.insert(text_of(one, "name"));
  }
  return found;
}

Status SnapshotJobs::save(const std::string& tag) {
  HARENA_TRY(const auto known, tags());
  if (known.contains(tag)) return make_error(ErrorCode::already_exists, "the machine's disks have a snapshot '" + tag + "'");
  return run("snapshot-save", {{"tag", tag}, {"vmstate", nodes_.front()}});
}

Status SnapshotJobs::load(const std::string& tag) {
  HARENA_TRY(const auto known, tags());
  if (!known.contains(tag)) return make_error(ErrorCode::not_found, "the machine's disks have no snapshot '" + tag + "'");
  return run("snapshot-load", {{"tag", tag}, {"vmstate", nodes_.front()}});
}

Status SnapshotJobs::remove(const std::string& tag) {
  HARENA_TRY(const auto known, tags());
  return known.contains(tag) ? run("snapshot-delete", {{"tag", tag}}) : Status();
}

}  // namespace harena::qemu
