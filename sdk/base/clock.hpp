#pragma once
// Time as an interface, so that tests hold the clock in their hands.

#include <atomic>
#include <cstdint>

namespace harena {

/// Thread-safe. Implementations never block.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Milliseconds since the Unix epoch: for what is shown and stored. May jump.
  virtual std::int64_t wall_ms() const = 0;
  /// Nanoseconds of CLOCK_MONOTONIC: for deadlines and durations. Never goes back.
  virtual std::int64_t monotonic_ns() const = 0;
};

class SystemClock final : public Clock {
 public:
  std::int64_t wall_ms() const override;
  std::int64_t monotonic_ns() const override;
};

/// A clock that stands still until told otherwise.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(std::int64_t start_wall_ms = 1'700'000'000'000) : wall_ms_(start_wall_ms) {}
  std::int64_t wall_ms() const override { return wall_ms_.load(); }
  std::int64_t monotonic_ns() const override { return monotonic_ns_.load(); }
  void advance_ms(std::int64_t by) {
    wall_ms_ += by;
    monotonic_ns_ += by * 1'000'000;
  }

 private:
  std::atomic<std::int64_t> wall_ms_;
  std::atomic<std::int64_t> monotonic_ns_{1'000'000'000};
};

}  // namespace harena
