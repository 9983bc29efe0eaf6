#pragma once
// plugin.json: what a plugin says about itself without being opened.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.hpp"

namespace harena::loader {

inline constexpr std::string_view kManifestFile = "plugin.json";

struct Manifest {
  std::string name;                    // short: "container"
  std::string id;                      // reverse DNS: "dev.harena.container"
  std::string version;
  std::string abi;                     // "0.1"
  std::vector<std::string> contracts;  // "harena.backend/1"
  std::string library;                 // file name beside the manifest
  std::string sha256;                  // 64 lower-case hexadecimal digits
};

/// invalid_argument names the key; unknown keys are refused.
Result<Manifest> parse_manifest(std::string_view text);
/// not_found when there is no manifest in `folder`.
Result<Manifest> read_manifest(const std::filesystem::path& folder);

/// The ABI of this build: "0.1".
std::string host_abi();
/// failed_precondition names both versions. Until 1.0 they must be equal; after it the majors must be.
Status check_abi(std::string_view plugin, std::string_view plugin_abi);

}  // namespace harena::loader
