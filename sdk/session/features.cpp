#include "sdk/session/features.hpp"

namespace harena::session {

std::string_view required_feature(FrameType type) {
  switch (type) {
    case FrameType::file_xattr_list: case FrameType::file_xattr_set: case FrameType::file_xattr_remove: return kFeatureXattrs;
    case FrameType::file_watch: return kFeatureWatch;
    case FrameType::file_archive_read: case FrameType::file_archive_write: return kFeatureArchive;
    case FrameType::rename: return kFeatureRename;
    default: return {};
  }
}

}  // namespace harena::session
