#pragma once
// Finding a plugin by name in the plugin folders.

#include <filesystem>
#include <string>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/loader/file_check.hpp"

namespace harena {

/// The folder whose plugin.json has `name` as its short name or id; the first of `folders` wins, and in it the folder
/// that is called like the plugin. Reads manifests of trusted owners only. not_found lists what the folders have,
/// with the nearest name, and what was passed over and why; invalid_argument for a name that can't be one.
Result<std::filesystem::path> find_plugin(const std::vector<std::string>& folders, const std::string& name,
                                          loader::OwnerPolicy policy);

}  // namespace harena
