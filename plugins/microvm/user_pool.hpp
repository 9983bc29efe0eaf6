#pragma once
// sdk/vmm/user_pool.hpp under the names of this room.

#include "sdk/vmm/user_pool.hpp"

namespace harena::microvm {

using vmm::UserPool;

}  // namespace harena::microvm
