#pragma once
// ProcessSpawner: how the import runs its two tools (skopeo, mkfs.erofs). An interface, so that tests can say what a tool
// answers. Never a shell: argv goes to exec as it is.

#include <functional>
#include <string>
#include <vector>

#include "sdk/base/result.hpp"

namespace harena::image {

/// Asked now and then by long work; an error ends it and becomes its result.
using Checkpoint = std::function<Status()>;

struct ProcessOutcome {
  int exit_code = 0;   ///< 128 + signal for a process that was killed
  std::string output;  ///< the last 16 KiB of standard output and error together
};

class ProcessSpawner {
 public:
  virtual ~ProcessSpawner() = default;
  /// Runs argv (argv[0] looked up in PATH) to its end with empty standard input and with `environment` ("NAME=value")
  /// beside what every tool gets. `checkpoint` is asked about five times
  /// a second; its error kills the process and all in its group. failed_precondition when the program isn't installed.
  virtual Result<ProcessOutcome> run(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                                     const Checkpoint& checkpoint) = 0;
};

/// posix_spawn (vfork semantics: a daemon with much memory doesn't pay for it), a process group of its own, a fixed
/// environment: PATH, HOME and the proxy variables of this process. Thread-safe.
class PosixSpawner final : public ProcessSpawner {
 public:
  Result<ProcessOutcome> run(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                             const Checkpoint& checkpoint) override;
};

}  // namespace harena::image
