#pragma once
// The rate of this machine's time-stamp counter, for guests that can't find it out themselves.
//
// A guest whose VMM emulates the CPU (QEMU's TCG) sees the host's counter, but measures it against a timer that the host's load delays: on a
// busy host that fails, and a kernel that was told of no other timer (hardware-reduced ACPI) then waits for a tick that never comes.
// `tsc_early_khz=RATE tsc=reliable no_timer_check` on its command line spares it the measuring.

#include <cstdint>
#include <string>

namespace harena {

/// kHz, measured for 20 ms at the first call (within some 10 ppm), the same from then on; 0 on other processors than x86-64. Thread-safe.
std::uint64_t tsc_rate_khz();

/// What the command line of such a guest's kernel has to hold, with a space in front of each word: the rate (not with 0), and what saves a kernel
/// work that is for real processors only. `mitigations=off`: an emulator's jumps aren't those that retpolines guard. `clearcpuid`: it fills
/// and copies pages by plain stores, where the instructions that are one step of a processor are a loop of a step a byte here.
/// Kernels before 5.18 know no names after `clearcpuid=` and leave it.
std::string emulated_kernel_words(std::uint64_t tsc_khz);

}  // namespace harena
