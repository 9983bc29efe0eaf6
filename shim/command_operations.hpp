#pragma once
// The operations on commands.

#include <memory>
#include <string_view>

#include "shim/command.hpp"
#include "shim/connection.hpp"

namespace harena::shim {

class CommandTable;

/// True when `type` is an operation on commands; it has then begun (and perhaps ended).
bool begin_command_operation(Connection& connection, CommandTable& table, session::FrameType type, std::string_view payload);

}  // namespace harena::shim
