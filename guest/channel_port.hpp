#pragma once
// The way to the host: a virtio port, or where the kernel's command line says harena.vsock=PORT (Firecracker) a connection that the host makes
// to that port of vsock.

#include <cstdint>
#include <optional>
#include <string_view>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::guest {

inline constexpr const char* kChannelName = "harena.session.0";

/// Tells of devices that the kernel finds. Opened before the drivers are loaded, so that none is missed.
Result<UniqueFd> open_device_events();

/// Waits for the port with that name and opens it: the kernel lets a port be opened once, so nobody else can from now on. It waits as
/// long as there is none: a machine without it has nothing else to do.
Result<UniqueFd> open_channel_port(int device_events);

/// The port of vsock that a kernel's command line names; invalid_argument for a word that says something else than 1 to 1023 (below 1024 nobody
/// but root of the machine may listen), nothing where it says none.
Result<std::optional<std::uint32_t>> vsock_port(std::string_view command_line);
/// Of this machine's kernel.
Result<std::optional<std::uint32_t>> own_vsock_port();
/// Listens on a port of vsock.
Result<UniqueFd> listen_on_vsock(std::uint32_t port);
/// A connection that waits, if it is the host's: everybody else's is closed. Empty: none. Waits only on a socket that blocks.
UniqueFd accept_host(int listener);

struct Channel {
  UniqueFd connection;
  UniqueFd listener;  // of vsock, where the host connects again when a snapshot has reset the connection; empty: a port, which stays
};
/// Opens whichever it is; waits for it.
Result<Channel> open_channel(std::optional<std::uint32_t> vsock_port, int device_events);

}  // namespace harena::guest
