#pragma once
// What tells one clone from another, and the time.

#include <sys/types.h>

#include "sdk/base/result.hpp"
#include "sdk/session/tunnel/agent_messages.hpp"

namespace harena::guest {

/// invalid_argument names the value and what would be right.
Status check_identity(const session::GuestIdentity& identity);

/// The wall clock, set to `wall_ns` (0: left alone). Returns how far it was off. Timers on the monotonic clock don't notice.
Result<std::int64_t> set_wall_clock(std::int64_t wall_ns);
/// Mixes it into the kernel's generator, counts it as entropy, and has the generator reseed itself at once.
Status add_entropy(const std::string& entropy);

/// /etc/hostname, hosts, resolv.conf and machine-id below `root`, owned by the sandbox's root; only regular files of the image are replaced.
Status write_names(int root, const session::GuestIdentity& identity);

/// All of it for a sandbox that is there already; `init` is its first process. Says what was done.
Result<session::RenewAnswer> renew_identity(const session::GuestIdentity& identity, pid_t init);

}  // namespace harena::guest
