#pragma once
// Telling systemd: sd_notify(3)'s datagram, which is documented as a stable interface, so that libsystemd isn't needed.

#include <string_view>

namespace harena {

/// Sends `state` ("READY=1") to $NOTIFY_SOCKET; does nothing without one. Failures are ignored, as sd_notify's users do.
void notify_systemd(std::string_view state);

}  // namespace harena
