#pragma once
// Executables of a sandbox that tell its processes that they are a clone: which names count, the same for who
// finds them (the agent) and for who runs them (the host, which trusts no name from there).

#include <algorithm>
#include <string_view>

namespace harena::session {

/// Without the leading slash, below the sandbox's root.
inline constexpr const char* kCloneHookFolder = "etc/harena/clone.d";
/// Run in the order of their names, the first so many.
inline constexpr std::size_t kMostCloneHooks = 16;

/// As run-parts(8) has them: letters, digits, dashes and underscores, at most 64; what editors and packages
/// leave beside isn't one.
inline bool is_clone_hook(std::string_view name) {
  const auto good = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; };
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), good);
}

}  // namespace harena::session
