#pragma once
// What the PID 1 of a sandbox does at the end of its own setting up, in a container and in a guest alike: it becomes a user that nobody
// inside has a number for, gives everything up, and then only reaps.

#include <linux/filter.h>

#include <cstdint>
#include <vector>

#include "sdk/support/namespace_holder.hpp"

namespace harena {

/// In the calling process's network namespace.
Status loopback_up();

/// Into the sandbox's user namespace as a user that it has no number for: nobody inside has init's id, so nobody may set its limits (a CPU
/// limit would end it), its priority or its CPUs. The last id of the range that begins with `first_id`; the map ends before it.
Status become_nobody_inside(const NamespaceHolder& namespaces, std::uint32_t first_id);

/// After the last change of credentials: those clear the death signal and the dumpable flag.
Status give_everything_up();

/// Closes all descriptors but this one, and returns its new number: every descriptor of the parent was inherited, and one that stays is a way out.
int close_others(int kept);

/// With all signals blocked (block_all_signals): an init has no handlers, and waits for SIGCHLD by sigwaitinfo(2). Never returns.
[[noreturn]] void reap_for_ever();

/// What it may still call once it is set up: waiting, exiting, one last packet.
Result<std::vector<sock_filter>> init_filter();

}  // namespace harena
