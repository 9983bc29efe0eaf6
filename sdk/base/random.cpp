#include "sdk/base/random.hpp"

#include <sys/random.h>

#include <cstdlib>
#include <cstring>

namespace harena {

std::uint64_t RandomSource::next_u64() {
  std::uint64_t value = 0;
  fill(std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

std::uint64_t RandomSource::below(std::uint64_t bound) {
  // Rejection sampling: the values above the largest multiple of bound would make low results likelier.
  const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  std::uint64_t value = next_u64();
  while (value >= limit) value = next_u64();
  return value % bound;
}

std::string RandomSource::base36(std::size_t length) {
  constexpr char kDigits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::string text(length, '0');
  for (char& c : text) c = kDigits[below(36)];
  return text;
}

std::string RandomSource::hex(std::size_t bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string raw(bytes, '\0');
  fill(std::as_writable_bytes(std::span(raw)));
  std::string text;
  text.reserve(bytes * 2);
  for (char c : raw) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

void SystemRandom::fill(std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t got = ::getrandom(out.data(), out.size(), 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      std::abort();  // No randomness: nothing that follows could be safe.
    }
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

void SeededRandom::fill(std::span<std::byte> out) {
  std::lock_guard lock(mutex_);
  while (!out.empty()) {
    const std::uint64_t word = engine_();
    const std::size_t n = out.size() < sizeof word ? out.size() : sizeof word;
    std::memcpy(out.data(), &word, n);
    out = out.subspan(n);
  }
}

}  // namespace harena
