#pragma once
// Changes of the tree as E2B's envd makes them: with root's rights, and then everything new belongs to the user.

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/e2b/envd/envd_call.hpp"
#include "plugins/e2b/envd/proto/filesystem.pb.h"

namespace harena::e2b {

/// Makes the folder and what is missing above it; whatever is new belongs to `owner`. A folder that is there already is left alone.
http::Task<Status> make_folders(SandboxCall& call, std::string path, Account owner);
http::Task<Status> give_to(SandboxCall& call, std::string path, Account owner);

/// The entries below a folder, each before what is in it, sorted; `depth` levels of it, at least one. A folder that is a symlink is
/// looked into, symlinks below aren't. invalid_argument when it isn't a folder.
http::Task<Result<std::vector<filesystem::EntryInfo>>> list_tree(SandboxCall& call, std::string path, std::uint32_t depth);

/// invalid_argument when there is no folder, not_found when there is nothing.
http::Task<Status> need_folder(SandboxCall& call, std::string path);

}  // namespace harena::e2b
