#pragma once
// What a plugin instance has of the host: counted before and after, so that a leak shows as a difference.

#include <set>
#include <string>

#include "plugins/container/tests/fixture.hpp"

namespace harena::container::testing {

/// Names of everything that belongs to sandboxes of this instance: its groups in all hierarchies, the processes in them, loop devices and
/// mounts whose files are below its folder, files in its folders, descriptors of this process on cgroups, processes and namespaces.
/// The launcher with its group isn't counted: it belongs to the instance.
std::set<std::string> census(const Backend& backend, bool with_descriptors = true);

/// Looks until only what is in `before` is left, or for 20 s: the kernel frees file systems and loop devices in workers of its own.
/// What is left beyond it.
std::set<std::string> left_over(const Backend& backend, const std::set<std::string>& before, bool with_descriptors = true);

}  // namespace harena::container::testing
