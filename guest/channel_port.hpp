#pragma once
// Finds and opens the virtio port that leads to the host.

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::guest {

inline constexpr const char* kChannelName = "harena.session.0";

/// Tells of devices that the kernel finds. Opened before the drivers are loaded, so that none is missed.
Result<UniqueFd> open_device_events();

/// Waits for the port with that name and opens it: the kernel lets a port be opened once, so nobody else can from now on. It waits as
/// long as there is none: a machine without it has nothing else to do.
Result<UniqueFd> open_channel_port(int device_events);

}  // namespace harena::guest
