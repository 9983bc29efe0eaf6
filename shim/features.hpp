#pragma once
// What this endpoint offers in hello_ok beyond the first release of the protocol (sdk/session/features.hpp).

#include <array>
#include <string>
#include <vector>

#include "sdk/session/features.hpp"
#include "shim/options.hpp"

namespace harena::shim {

inline std::vector<std::string> offered_features(const Options& options) {
  using namespace session;
  // The first one only where descriptors pass.
  constexpr std::array kOffered = {kFeatureDialFd,  kFeatureTrustedTools, kFeatureStdinData,   kFeatureXattrs,    kFeatureWatch,
                                   kFeatureArchive, kFeatureReadAsk,      kFeatureWriteOffset, kFeatureListXattrs,
                                   kFeatureRename};
  return {passes_descriptors(options) ? kOffered.begin() : kOffered.begin() + 1, kOffered.end()};
}

}  // namespace harena::shim
