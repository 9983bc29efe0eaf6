#pragma once
// sdk/vmm/event_loop.hpp under the names of this room.

#include "sdk/vmm/event_loop.hpp"

namespace harena::microvm {

using vmm::EventLoop;

}  // namespace harena::microvm
