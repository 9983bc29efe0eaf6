#include "core/cli/exit_code.hpp"

#include "core/cli/program.hpp"
#include "core/cli/signals.hpp"

namespace harena::cli {

namespace {

bool platform_did_it(const std::string& cause) { return cause == "platform" || cause == "sandbox_stopped"; }
bool timed_out(const std::string& cause) { return cause == "timeout" || cause == "no_output_timeout"; }

}  // namespace

int exit_code_of(const client::ExitStatus& status) {
  if (timed_out(status.cause)) return kExitTimeout;
  if (platform_did_it(status.cause)) return kExitPlatform;
  if (status.code) return *status.code;
  const int number = signal_number(status.signal);
  return number > 0 ? 128 + number : kExitPlatform;
}

std::string remark_of(const client::ExitStatus& status) {
  if (status.cause == "exit" || status.cause == "signal") return "";
  if (status.cause == "timeout") return "the command was ended: its timeout is over";
  if (status.cause == "no_output_timeout") return "the command was ended: it was silent for too long";
  if (status.cause == "sandbox_stopped") return "the command was ended: its sandbox was stopped";
  if (status.cause == "platform") return "the command was lost by the platform";
  if (status.cause == "killed") return "the command was killed by a user";
  return "the command was ended by a limit: " + status.cause;
}

int exit_code_of(const Error& error) {
  if (error.code == ErrorCode::cancelled) return kExitBrokenPipe;
  if (error.cause_detail == "no_such_program") return kExitNoSuchProgram;
  if (error.cause_detail == "not_executable") return kExitNotExecutable;
  return kExitPlatform;
}

}  // namespace harena::cli
