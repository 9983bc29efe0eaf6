#pragma once
// What this endpoint offers in hello_ok beyond the first release of the protocol (sdk/session/features.hpp).

#include <string>
#include <vector>

#include "sdk/session/features.hpp"

namespace harena::shim {

inline std::vector<std::string> offered_features() {
  return {std::string(session::kFeatureDialFd), std::string(session::kFeatureTrustedTools), std::string(session::kFeatureStdinData)};
}

}  // namespace harena::shim
