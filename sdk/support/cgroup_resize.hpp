#pragma once
// Changing one limit of a living group: to another value, or back to none. CgroupTree::resize_sandbox puts them into an order.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/support/cgroup_limits.hpp"

namespace harena {

/// What resize_sandbox changes, in its order. "memory" is memory and swap together: the files of v1 depend on each other.
const std::vector<std::string>& resize_steps();
/// Whether a step has anything to do between the two.
bool step_changes(std::string_view step, const CgroupLimits& before, const CgroupLimits& after);

/// One step on the directory of a v2 group. Idempotent. Memory is never set below what is used: what can be taken back is taken back
/// first (the group should be frozen meanwhile, so that nothing comes in between), and failed_precondition with cause limit names the use.
Status change_v2_limit(std::string_view step, int group, const CgroupLimits& before, const CgroupLimits& after);
/// The same for a group of the v1 hierarchy that has the controller; the kernel itself refuses memory below what is used.
Status change_v1_limit(std::string_view step, int group, const CgroupLimits& before, const CgroupLimits& after);

}  // namespace harena
