#pragma once
// sdk/vmm/control_server.hpp under the names of this room.

#include "sdk/vmm/control_server.hpp"

namespace harena::microvm {

using nlohmann::json;
using vmm::ControlServer;
using vmm::control_error;
using vmm::error_of_control;

}  // namespace harena::microvm
