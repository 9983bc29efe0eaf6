#pragma once
// What the findings of `harena doctor` look at: files below a root (the machine's "/", or a folder that a test made), and the few facts that
// no file tells.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sdk/support/mount_api.hpp"

namespace harena::container {

struct HostView {
  /// Prefix of every path; empty for this machine.
  std::string root;
  std::string kernel_release;
  bool is_root = true;
  /// Of landlock_create_ruleset(2); 0: the kernel has none, or it isn't switched on.
  int landlock_version = 0;
  /// Whether the kernel's clock is being disciplined (adjtimex(2)); nullopt where that can't be asked.
  std::optional<bool> clock_synchronised;
  /// Whether this process has mounts of its own, other than those of process 1.
  bool own_mounts = false;

  static HostView of_this_host();

  bool exists(const std::string& path) const;
  /// Empty when it can't be read.
  std::string text(const std::string& path, std::size_t max_bytes = 1 << 20) const;
  /// The number that the file begins with; nullopt when there is none ("max" too).
  std::optional<std::int64_t> number(const std::string& path) const;
  std::vector<MountEntry> mounts() const;
  bool kernel_at_least(int major, int minor) const;
  /// Registered, or there as a module that the kernel loads at the first mount.
  bool has_filesystem(const std::string& name) const;
};

}  // namespace harena::container
