#pragma once
// What an endpoint may have beyond the first release of harena.session/1. A client asks for a feature by its name before it uses
// what came with it; so an endpoint of an older release (a sandbox that outlived an upgrade) is told apart from a broken one.

#include <string_view>

#include "sdk/session/frame.hpp"

namespace harena::session {

/// `dial` answers with the connected socket itself, by SCM_RIGHTS (Unix channels only).
inline constexpr std::string_view kFeatureDialFd = "dial-fd";
/// `start` knows `trusted_tools`.
inline constexpr std::string_view kFeatureTrustedTools = "trusted-tools";
/// A start may carry what the command gets on stdin (StartRequest::stdin_data).
inline constexpr std::string_view kFeatureStdinData = "stdin-data";
/// file_xattr_*, file_watch, file_archive_*.
inline constexpr std::string_view kFeatureXattrs = "xattrs";
inline constexpr std::string_view kFeatureWatch = "watch";
inline constexpr std::string_view kFeatureArchive = "archive";
/// `file_list` knows `xattrs`.
inline constexpr std::string_view kFeatureListXattrs = "list-xattrs";
/// `file_read` knows `ask`, and `file_write` `offset`.
inline constexpr std::string_view kFeatureReadAsk = "read-ask";
inline constexpr std::string_view kFeatureWriteOffset = "write-offset";
/// `rename`.
inline constexpr std::string_view kFeatureRename = "rename";
/// One operation after the other on a channel (kFeatureMultiplex: many, told apart by stream id, with window).
inline constexpr std::string_view kFeatureMultiplex = "multiplex";

/// The feature that an endpoint must offer in hello_ok before a request of this type is sent; empty for the types of the first
/// release, which every endpoint knows. A new type gets its line here in the commit that adds it.
std::string_view required_feature(FrameType type);

}  // namespace harena::session
