#pragma once
// QEMU's microvm machine as a Vmm.

#include <memory>

#include "plugins/microvm/machine/vmm.hpp"
#include "sdk/vmm/event_loop.hpp"

namespace harena::microvm {

/// Starts it and waits until it answers. The files of `spec` belong to spec.uid where it writes them. Errors end with QEMU's own words.
/// `loop` outlives it.
Result<std::unique_ptr<Vmm>> launch_qemu(vmm::EventLoop& loop, const VmmSpec& spec, std::int64_t deadline_ns);
VmmDriver qemu_driver();

}  // namespace harena::microvm
