#pragma once
// What runs a guest's instructions: the CPU by KVM, or QEMU's translation.

#include <string>

#include "sdk/base/result.hpp"

namespace harena::vmm {

enum class Accelerator { kvm, tcg };

struct AcceleratorChoice {
  Accelerator accelerator = Accelerator::tcg;
  std::string why;
};
/// "auto" takes KVM where /dev/kvm and the CPU have it. failed_precondition for "kvm" where they don't.
Result<AcceleratorChoice> choose_accelerator(const std::string& wanted);

}  // namespace harena::vmm
