#pragma once
// The sandbox's network device: found by its MAC address, moved into the sandbox's network namespace, named eth0, given its address.

#include <sys/types.h>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/session/tunnel/agent_messages.hpp"

namespace harena::guest {

/// invalid_argument names the value and what would be right.
Status check_network(const session::GuestNetwork& network);

/// Moves the device with network.mac from the caller's network namespace into that of the process `member`. not_found names the address.
Status give_device(const session::GuestNetwork& network, pid_t member);
/// In the sandbox's network namespace: eth0 up, with address and default route.
Status configure_device(const session::GuestNetwork& network);

/// A clone's: enters the sandbox's network namespace (so: in a child), gives eth0 the new MAC and address, forgets neighbours.
Status renew_network(const session::GuestNetwork& network, int init_pidfd);

Result<UniqueFd> open_init(pid_t init);

}  // namespace harena::guest
