#pragma once
// RecentSandboxes: what was found of sandboxes a moment ago, so that a client that starts command after command isn't looked up each time.
//
// What is kept is what doesn't change (environment, user, tokens). Whether the sandbox still lives is judged by the call that is made with it:
// only calls that the API itself refuses for a sandbox that is gone, and for a key that was revoked, may use it.

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "plugins/e2b/envd/sandbox_access.hpp"
#include "sdk/base/clock.hpp"

namespace harena::e2b {

/// Thread-safe; no call blocks.
class RecentSandboxes {
 public:
  static constexpr std::int64_t kFreshMs = 10'000;
  static constexpr std::size_t kMaxKept = 4096;

  /// Borrows the clock.
  explicit RecentSandboxes(const Clock& clock) : clock_(clock) {}
  /// Of the last kFreshMs; nullopt: look it up.
  std::optional<SandboxAccess> find(const std::string& id) const;
  /// Keeps it if it is running.
  void keep(const SandboxAccess& sandbox);
  void forget(const std::string& id);

 private:
  struct Kept {
    SandboxAccess sandbox;
    std::int64_t since_ms = 0;
  };
  void make_room(std::int64_t now_ms);

  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::string, Kept> kept_;
};

}  // namespace harena::e2b
