#pragma once
// What may be repeated is repeated, a few times, with growing pauses.

#include <chrono>
#include <functional>

#include "sdk/base/random.hpp"
#include "sdk/base/result.hpp"

namespace harena::client {

struct RetryPolicy {
  /// Tries in all; 1 never repeats.
  int attempts = 6;
  std::chrono::milliseconds first_delay{100};
  std::chrono::milliseconds max_delay{5'000};
};

/// Says whether, and after how long, something that failed is tried again. Not thread-safe.
class Attempts {
 public:
  /// `sleep` is std::this_thread::sleep_for, or a recorder in tests.
  using Sleep = std::function<void(std::chrono::milliseconds)>;
  Attempts(RetryPolicy policy, RandomSource& random, Sleep sleep);

  /// Sleeps and returns true when another try is due. `idempotent`: doing it twice is the same as doing it once.
  /// An error whose `retry` isn't `never` was undone by the server, so that anything may be asked again; a connection
  /// that never came about (kNotSent in its cause_detail) as well.
  bool again(const Error& error, bool idempotent);
  /// After progress the count begins anew.
  void reset() { count_ = 0; }

 private:
  RetryPolicy policy_;
  RandomSource& random_;
  Sleep sleep_;
  int count_ = 0;
};

/// `cause_detail` of errors made by this room, on this side of the wire (a server never says these): nothing was sent;
/// something may have been.
inline constexpr const char* kNotSent = "client.connect";
inline constexpr const char* kConnectionLost = "client.connection";

}  // namespace harena::client
