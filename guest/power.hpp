#pragma once
// The machine's end.

namespace harena::guest {

/// Syncs, leaves the writable disk clean, and turns the machine off; where the machine can't, it is reset, which a VMM started with
/// -no-reboot takes for the same.
[[noreturn]] void power_off();

}  // namespace harena::guest
