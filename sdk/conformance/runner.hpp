#pragma once
// Runs cases, each in a child process with a timeout; what the child leaves running is ended.

#include <string>
#include <vector>

#include "sdk/conformance/case.hpp"

namespace harena::conformance {

enum class Outcome { passed, failed, crashed, timed_out, skipped, warning };
std::string_view to_string(Outcome outcome);
/// True for failed, crashed and timed out.
bool is_bad(Outcome outcome);

struct CaseReport {
  std::string name;
  int level = 0;
  std::string promise;
  Outcome outcome = Outcome::passed;
  std::string message;  // why; warnings
  std::string output;   // the end of what the child wrote to stdout and stderr
  double seconds = 0;
};

/// Call from a process with one thread (it forks). Makes this process the reaper of its orphaned descendants.
CaseReport run_case(const Case& one, const Subject& subject);

/// Runs `body` in a child of the current case, to its end or to its death: for hosts that are killed, and for what
/// must not be loaded twice in one process. `body` throws Failed; its document comes back.
struct ChildEnd {
  bool killed = false;  // by SIGKILL
  int signal = 0;       // else by this
  std::string failure;  // of Failed
  json value;
};
class Child {
 public:
  explicit Child(const std::function<json()>& body);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  void kill_hard();
  /// Waits until `file` exists (a sign of the child), or the case fails: with the child's failure when it ended before.
  void wait_for(const std::filesystem::path& file, int limit_s = 30);
  /// The case fails when it takes longer than `limit_s`.
  ChildEnd wait(int limit_s = 30);

 private:
  bool ended() const;
  int pid_ = -1;
  int in_ = -1;
};

}  // namespace harena::conformance
