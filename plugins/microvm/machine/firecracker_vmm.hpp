#pragma once
// Firecracker as a Vmm: its API on a Unix socket, its jailer, its snapshots, its vsock. KVM alone.

#include <memory>

#include "plugins/microvm/machine/vmm.hpp"

namespace harena::microvm {

/// Starts it in its jail and waits until it answers; boots it unless spec.incoming. failed_precondition: a version that isn't driven, a host
/// without KVM, what Firecracker refuses, in its words. `loop` outlives it.
Result<std::unique_ptr<Vmm>> launch_firecracker(vmm::EventLoop& loop, const VmmSpec& spec, std::int64_t deadline_ns);
VmmDriver firecracker_driver();

}  // namespace harena::microvm
