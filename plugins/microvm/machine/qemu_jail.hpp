#pragma once
// Where QEMU lives: sdk/vmm/jail.hpp with the few files that it opens by name.

#include "plugins/microvm/machine/vmm.hpp"
#include "sdk/vmm/jail.hpp"

namespace harena::microvm {

/// ram_guard.cpp as a library, beside this program. failed_precondition where it isn't: a frozen RAM file is never mapped without it.
Result<std::string> ram_guard_path();
/// The program, its libraries and data (read-only), /dev/kvm if it is used, and the files of `spec` under the names of jail_names.hpp.
/// A frozen RAM file (own_copy) is on a read-only mount.
Result<vmm::JailSpec> qemu_jail(const VmmSpec& spec);

}  // namespace harena::microvm
