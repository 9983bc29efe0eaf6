#pragma once
// Where a VMM lives: a root of its own with the few files that it opens by name, no network, no way to other processes' memory or to more
// rights. Called in the child between fork(2) and exec(2): nothing of it is seen by anybody else, and it goes with the process.

#include <string>

#include "plugins/microvm/machine/vmm.hpp"

namespace harena::microvm {

/// New mount, network, IPC and UTS namespaces; a root that holds the program, its libraries and data (read-only), /dev/{null,zero,
/// urandom,random} (and kvm), and the files of `spec` under the names of qemu_arguments.hpp.
Status enter_jail(const VmmSpec& spec);
/// Joins the groups, becomes the user (no groups, no capabilities, no_new_privs) and asks to be killed when `parent` ends. Last.
Status drop_rights(const VmmSpec& spec, pid_t parent);

}  // namespace harena::microvm
