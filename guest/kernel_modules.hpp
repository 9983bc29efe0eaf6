#pragma once
// Loads the modules that the initramfs brings, in the order of its list.

#include <string>

#include "sdk/base/result.hpp"

namespace harena::guest {

/// Each line of `list` is the path of a module. One that is loaded (or built in) already is fine; the first that fails is the error.
/// Parameters on the kernel's command line ("virtio_mmio.device=...") are handed on, as modprobe(8) does.
Status load_modules(const std::string& list);

/// The parameters of module `name` in a kernel command line: "a=1 b=2". Dashes and underscores are the same.
std::string module_parameters(const std::string& command_line, const std::string& name);

}  // namespace harena::guest
