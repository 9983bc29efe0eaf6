#pragma once
// The version that a program says of itself.

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "sdk/base/result.hpp"

namespace harena::vmm {

/// What `path --version` prints first that is a version: "7.2.22" of "QEMU emulator version 7.2.22 (Debian
/// ...)", "1.10.1" of "Firecracker v1.10.1". [blocking] until it ends, at most `patience_ns`. failed_precondition when
/// it doesn't run or prints none; deadline_exceeded when it has said nothing by then.
Result<std::string> program_version(const std::string& path, std::int64_t patience_ns);

/// The part of a text that is one: digits with at least one dot between. Empty: none.
std::string version_in(const std::string& text);

/// A program that isn't in memory yet, on a busy host: seconds.
inline constexpr std::int64_t kVersionPatienceNs = 30'000'000'000;

/// Asks once for each file, by its path, size and time: probes come every few seconds. Thread-safe.
class VersionCache {
 public:
  explicit VersionCache(std::int64_t patience_ns = kVersionPatienceNs) : patience_ns_(patience_ns) {}
  Result<std::string> of(const std::string& path);

 private:
  struct Known {
    std::int64_t bytes = 0, mtime_ns = 0;
    std::string version;
  };
  const std::int64_t patience_ns_;
  std::mutex mutex_;
  std::map<std::string, Known> known_;
};

}  // namespace harena::vmm
