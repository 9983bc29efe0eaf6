#pragma once
// The end of a machine's process: how a plugin brings it about, and what the process said of it.

#include <cstdint>
#include <string>

#include "sdk/base/result.hpp"
#include "sdk/support/cgroup_tree.hpp"
#include "sdk/support/process.hpp"

namespace harena::vmm {

/// Ends a machine's process, which takes its VMM along, also one that nobody here knows; then its group goes. Idempotent.
Status end_machine_process(const CgroupTree& cgroups, const std::string& id, const ProcessRef& known, std::int64_t deadline_ns);

struct Ending {
  Cause cause = Cause::infrastructure;
  std::string detail;
};
/// What it wrote down at its end (vm_dir/exit.json): a guest that powers itself off or panics was ended from inside, the agent's.
/// `otherwise`
/// when it left nothing.
Ending read_ending(const std::string& vm_dir, const std::string& otherwise);

}  // namespace harena::vmm
