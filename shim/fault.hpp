#pragma once
// Named points at which a test makes the shim crash: HARENA_FAULT=NAME in its environment, or NAME in the file DIR/fault (which can be
// put there while it runs). The crash is SIGKILL to itself, as the OOM killer's: nothing is told, nothing is cleaned up.
//
// In test builds only (HARENA_FAULTS, off in Release): elsewhere a point is nothing.

#include <string>
#include <string_view>

namespace harena::shim {

#ifdef HARENA_FAULTS
void fault_point(const std::string& run_dir, std::string_view name);
#else
inline void fault_point(const std::string&, std::string_view) {}
#endif

}  // namespace harena::shim
