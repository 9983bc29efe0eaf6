#include "sdk/vmm/accelerator.hpp"

#include <fcntl.h>

#include <fstream>

#include "sdk/base/unique_fd.hpp"

namespace harena::vmm {
namespace {

bool cpu_virtualises() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("flags")) {
      return (line + " ").find(" vmx ") != std::string::npos || (line + " ").find(" svm ") != std::string::npos;
    }
  }
  return false;
}

}  // namespace

Result<AcceleratorChoice> choose_accelerator(const std::string& wanted) {
  if (wanted == "tcg") return AcceleratorChoice{Accelerator::tcg, "configured"};
  UniqueFd device(::open("/dev/kvm", O_RDWR | O_CLOEXEC));
  // A /dev/kvm without the CPU's flag is a paravirtual one, on which a stock kernel doesn't get through its boot.
  const std::string why = !device ? "/dev/kvm can't be opened" : !cpu_virtualises() ? "the CPU has neither vmx nor svm" : "";
  if (why.empty()) return AcceleratorChoice{Accelerator::kvm, "/dev/kvm and the CPU have it"};
  if (wanted == "kvm") {
    return make_error(ErrorCode::failed_precondition, "accelerator 'kvm': " + why + "; 'auto' or 'tcg' work here, slower");
  }
  return AcceleratorChoice{Accelerator::tcg, why};
}

}  // namespace harena::vmm
