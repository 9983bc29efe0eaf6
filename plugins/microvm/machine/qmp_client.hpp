#pragma once
// sdk/vmm/qmp_client.hpp under the names of this room.

#include "sdk/vmm/qmp_client.hpp"

namespace harena::microvm {

using nlohmann::json;
using vmm::QmpClient;

}  // namespace harena::microvm
