#pragma once
// Randomness as an interface: cryptographic in production, seeded in tests.

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <random>
#include <span>
#include <string>

namespace harena {

/// Thread-safe.
class RandomSource {
 public:
  virtual ~RandomSource() = default;
  virtual void fill(std::span<std::byte> out) = 0;

  std::uint64_t next_u64();
  /// Uniform in [0, bound). Precondition: bound > 0.
  std::uint64_t below(std::uint64_t bound);
  /// `length` characters of [0-9a-z], uniform.
  std::string base36(std::size_t length);
  /// 2*`bytes` lower-case hexadecimal digits.
  std::string hex(std::size_t bytes);
};

/// getrandom(2): fit for ids and tokens.
class SystemRandom final : public RandomSource {
 public:
  void fill(std::span<std::byte> out) override;
};

/// Repeatable, for tests only.
class SeededRandom final : public RandomSource {
 public:
  explicit SeededRandom(std::uint64_t seed) : engine_(seed) {}
  void fill(std::span<std::byte> out) override;

 private:
  std::mutex mutex_;
  std::mt19937_64 engine_;
};

}  // namespace harena
