#pragma once
// What this endpoint offers in hello_ok beyond the first release of the protocol (sdk/session/features.hpp).

#include <array>
#include <string>
#include <vector>

#include "sdk/session/features.hpp"

namespace harena::shim {

inline std::vector<std::string> offered_features() {
  using namespace session;
  constexpr std::array kOffered = {kFeatureDialFd, kFeatureTrustedTools, kFeatureStdinData, kFeatureXattrs,
                                   kFeatureWatch,  kFeatureArchive,      kFeatureReadAsk,   kFeatureWriteOffset};
  return {kOffered.begin(), kOffered.end()};
}

}  // namespace harena::shim
