#pragma once
// QEMU's internal snapshots: a tag in every disk of a machine, and its memory and devices in the first of them. Each is a job of QMP
// (snapshot-save, snapshot-load, snapshot-delete), all disks or none.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/vmm/event_loop.hpp"
#include "sdk/vmm/qmp_client.hpp"

namespace harena::qemu {

class SnapshotJobs {
 public:
  /// `nodes`: qcow2, at least one; the first takes the memory. `patience_ns`: for one job, in which QEMU answers nobody.
  SnapshotJobs(vmm::EventLoop& loop, vmm::QmpClient& qmp, std::vector<std::string> nodes, std::int64_t patience_ns)
      : loop_(loop), qmp_(qmp), nodes_(std::move(nodes)), patience_ns_(patience_ns) {}

  /// already_exists for a tag that there is. The guest stands still meanwhile, and then is what it was, running or not.
  Status save(const std::string& tag);
  /// not_found for a tag that isn't in every disk: nothing has changed then. The guest stands still afterwards.
  Status load(const std::string& tag);
  /// Idempotent; what was the tag's alone is free for the disks again.
  Status remove(const std::string& tag);
  /// Tags that are in any of the disks.
  Result<std::set<std::string>> tags();

 private:
  using json = nlohmann::json;
  Status run(const std::string& command, json arguments);
  /// How the job ended: empty, or QEMU's words.
  Result<std::string> outcome(const std::string& job, std::int64_t deadline_ns);

  vmm::EventLoop& loop_;
  vmm::QmpClient& qmp_;
  const std::vector<std::string> nodes_;
  const std::int64_t patience_ns_;
};

}  // namespace harena::qemu
