#include "shim/start_failure.hpp"

#include <cerrno>
#include <utility>

#include "sdk/session/frame.hpp"

namespace harena::shim {
namespace {

Error exec_error(const StartFailure& failure, const std::string& file, const std::string& path) {
  const std::string where = file.find('/') == std::string::npos ? " in PATH " + path : "";
  switch (failure.error_number) {
    case ENOENT:
    case ENOTDIR:
      return refused(ErrorCode::not_found, "no_such_program",
                     failure.is_there ? "'" + file + "' is there, but the interpreter or loader that it names isn't"
                                      : "no such command '" + file + "'" + where);
    case EACCES: return refused(ErrorCode::permission_denied, "not_executable", "'" + file + "' isn't executable for this user");
    case ENOEXEC:
      return refused(ErrorCode::permission_denied, "not_executable",
                     "'" + file + "' isn't executable: no #! line, and no binary for this machine");
    case E2BIG:
      return make_error(ErrorCode::invalid_argument, "arguments and environment of '" + file +
                                                         "' are too long for execve (128 KiB each, a quarter of the stack limit together)");
    default: return errno_error(failure.error_number, "running '" + file + "'");
  }
}

Error cwd_error(int number, const std::string& cwd) {
  Error error = errno_error(number, "cwd '" + (cwd.empty() ? "/" : cwd) + "'");
  if (cwd.empty() || (number != ENOENT && number != ENOTDIR)) return error;
  return refused(ErrorCode::not_found, "no_such_cwd", error.message);
}

}  // namespace

Error refused(ErrorCode code, std::string reason, std::string message) {
  Error error = make_error(code, std::move(message));
  error.cause = Cause::agent;
  error.cause_detail = std::move(reason);
  return error;
}

Error pids_error() {
  Error error = make_error(ErrorCode::resource_exhausted, "the sandbox has as many processes as its limit allows");
  error.cause = Cause::limit;
  error.cause_detail = "pids";
  error.retry = Retry::same_node;
  return error;
}

void encode_failure(const StartFailure& failure, char* bytes) {
  bytes[0] = static_cast<char>(failure.step);
  bytes[1] = failure.is_there ? 1 : 0;
  session::put_u64(bytes + 2, static_cast<std::uint64_t>(failure.error_number));
}

Result<StartFailure> decode_failure(std::string_view bytes) {
  if (bytes.size() != kStartFailureBytes || bytes[0] < 1 || bytes[0] > static_cast<char>(StartStep::program)) {
    return make_error(ErrorCode::data_loss, "the new process failed, and its reason can't be read");
  }
  return StartFailure{static_cast<StartStep>(bytes[0]), bytes[1] != 0, static_cast<int>(session::get_u64(bytes.data() + 2))};
}

Error explain_failure(const StartFailure& failure, const std::string& cwd, const std::string& program, const std::string& path) {
  const int number = failure.error_number;
  switch (failure.step) {
    case StartStep::cgroup: return infrastructure_error(ErrorCode::internal, "cgroup", errno_error(number, "joining a v1 cgroup").message);
    case StartStep::pids: return pids_error();
    case StartStep::enter: return errno_error(number, "entering the sandbox");
    case StartStep::user: return errno_error(number, "becoming root of the sandbox");
    case StartStep::stdio: return errno_error(number, "dup2");
    case StartStep::capabilities: return errno_error(number, "dropping capabilities");
    case StartStep::cwd: return cwd_error(number, cwd);
    case StartStep::limits: return errno_error(number, "setting a resource limit");
    case StartStep::apparmor: return errno_error(number, "putting the AppArmor profile on the command");
    case StartStep::program: break;
  }
  return exec_error(failure, program, path);
}

}  // namespace harena::shim
