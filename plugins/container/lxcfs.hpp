#pragma once
// Whether lxcfs runs on this host, and which files it offers.

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace harena::container {

struct Lxcfs {
  /// Of its mount: another one after it was started again. 0: it isn't mounted.
  std::uint64_t mount = 0;
  /// Relative to kLxcfsFolder, as SandboxRequest::lxcfs wants them: "proc/meminfo".
  std::vector<std::string> files;
};

/// What there is now; asked again only when the mount is another one. Thread-safe.
class LxcfsView {
 public:
  /// `with_cpus`: also the files that count CPUs, where nobody else shows them (launcher/cpu_views.hpp).
  LxcfsView(bool wanted, bool with_cpus) : wanted_(wanted), with_cpus_(with_cpus) {}
  Lxcfs now();

 private:
  const bool wanted_;
  const bool with_cpus_;
  std::mutex mutex_;
  Lxcfs last_;
};

/// Looks at the mount without asking lxcfs anything: a hanging one holds nobody up.
std::uint64_t lxcfs_mount();
/// Empty when it isn't mounted or doesn't answer.
Lxcfs find_lxcfs();

}  // namespace harena::container
