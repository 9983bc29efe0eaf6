#pragma once
// Capability sets by raw system calls (capset(2), prctl(2)): libcap isn't needed for setting exactly one mask.

#include <cstdint>
#include <string>
#include <string_view>

#include "sdk/base/result.hpp"

namespace harena {

/// Bit n is capability n (linux/capability.h).
using CapabilityMask = std::uint64_t;

/// "CAP_CHOWN", "chown": bit 0. invalid_argument for an unknown name, with the nearest right one.
Result<CapabilityMask> capability_bit(std::string_view name);
/// What is permitted becomes effective (a change of user with PR_SET_KEEPCAPS clears that).
Status raise_capabilities();
/// Bounding, permitted, effective become exactly `mask` (as far as they hold it now), inheritable and ambient empty.
/// Needs CAP_SETPCAP until it is done.
Status limit_capabilities(CapabilityMask mask);

}  // namespace harena
