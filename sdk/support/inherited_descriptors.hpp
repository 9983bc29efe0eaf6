#pragma once
// What a starter left open in a program: never a long-lived program's to keep, and not to be handed on to sandboxes.

namespace harena {

/// Closes every descriptor above 2. Early in main(), before there are threads, and before anything is opened that stays open: nothing of our own can
/// be among them. For programs that aren't given any; one that is (a machine's process) is started without others (sdk/vmm/control_client.hpp).
void close_inherited_descriptors();

}  // namespace harena
