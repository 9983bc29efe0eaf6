#pragma once
// Where QEMU lives: sdk/vmm/jail.hpp with the few files that it opens by name.

#include "plugins/microvm/machine/vmm.hpp"
#include "sdk/vmm/jail.hpp"

namespace harena::microvm {

/// The program, its libraries and data (read-only), /dev/kvm if it is used, and the files of `spec` under the names of qemu_arguments.hpp.
vmm::JailSpec qemu_jail(const VmmSpec& spec);

}  // namespace harena::microvm
