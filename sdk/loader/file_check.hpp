#pragma once
// What is checked about a plugin before dlopen, none of which runs its code: owner and mode of folder, manifest and
// library; manifest; ABI; hash; exports. In this order, so that what others may have written is never parsed.

#include <filesystem>
#include <string>
#include <vector>

#include "sdk/loader/manifest.hpp"

namespace harena::loader {

/// The one symbol that a plugin exports.
inline constexpr std::string_view kEntrySymbol = "harena_plugin_entry";

/// Who may own a plugin's files. root_or_self is for tests and for authors who aren't root.
enum class OwnerPolicy { root_only, root_or_self };

/// permission_denied unless `path` belongs to root (or, by policy, to the user of this process) and neither its group
/// nor others may write it.
Status check_owner(const std::filesystem::path& path, OwnerPolicy policy);
/// data_loss names both hashes.
Status check_hash(const std::filesystem::path& library, const std::string& expected_sha256);
/// invalid_argument names what is missing or too much.
Status check_exports(const std::filesystem::path& library);

/// All of it. `folder` holds plugin.json and the library.
Result<Manifest> check_files(const std::filesystem::path& folder, OwnerPolicy policy);

}  // namespace harena::loader
