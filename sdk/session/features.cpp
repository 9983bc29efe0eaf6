#include "sdk/session/features.hpp"

namespace harena::session {

std::string_view required_feature(FrameType type) {
  switch (type) {
    // case FrameType::the_new_verb: return kFeatureOfTheNewVerb;
    default: return {};
  }
}

}  // namespace harena::session
