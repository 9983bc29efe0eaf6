#pragma once
// Sessions of the revisions that have them. An id is derived (a random number, the revision, and a seal of both with the caller's
// token), so that any replica knows it, a restart forgets none, and nobody uses another one's.

#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "sdk/base/random.hpp"

namespace harena::mcp {

/// Thread-safe.
class Sessions {
 public:
  /// `secret`: of the installation.
  Sessions(std::string secret, RandomSource& random) : secret_(std::move(secret)), random_(random) {}

  /// Of printable ASCII. `revision` is one with a handshake.
  std::string make(std::string_view token, std::string_view revision);
  /// The revision of a session of this token; nullopt: there is no such session (404).
  std::optional<std::string> find(std::string_view id, std::string_view token) const;
  /// Known as ended in this process, for as long as kRemembered younger ones haven't been ended.
  void end(const std::string& id);
  static constexpr std::size_t kRemembered = 10'000;

 private:
  std::string seal(std::string_view body, std::string_view token) const;

  const std::string secret_;
  RandomSource& random_;
  mutable std::mutex mutex_;
  std::set<std::string, std::less<>> ended_;
  std::deque<std::string> order_;
};

}  // namespace harena::mcp
