#pragma once
// The credential of a frontend that acts for a sandbox: `hrf_SANDBOX.PLUGIN.MAC`, checked without any state.

#include <optional>
#include <string>
#include <string_view>

#include "sdk/base/result.hpp"

namespace harena {

struct FrontendCredential {
  std::string sandbox;  ///< an id, or empty: to list
  std::string plugin;   ///< id of the plugin: "dev.harena.e2b"
  bool operator==(const FrontendCredential&) const = default;
};

/// True for what begins like one.
bool is_frontend_credential(std::string_view text);
/// invalid_argument for a sandbox that is no id, or a plugin without a name.
Result<std::string> sign(const FrontendCredential& credential, std::string_view key);
/// nullopt for what isn't signed with `key`.
std::optional<FrontendCredential> verify(std::string_view text, std::string_view key);

}  // namespace harena
