#include "plugins/fake/shim_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sdk/base/unique_fd.hpp"
#include "sdk/support/spawn_attributes.hpp"

extern char** environ;

namespace harena::fake {
namespace {

constexpr int kReadyFd = 3;                       // its number in the shim
constexpr std::int64_t kReadyLimitMs = 10'000;    // when the call itself has no deadline
constexpr int kReadyPollMs = 20;                  // how soon a cancellation is noticed
constexpr std::int64_t kKillLimitMs = 5'000;      // after SIGKILL only the kernel is waited for

// Empty when the process has gone meanwhile. By way of operator<<, as iterators over a filebuf throw then.
std::string read_proc(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

// Field 22 of /proc/PID/stat: with the pid it names a process for good (proc(5)).
std::string start_time_of(pid_t pid) {
  std::string text = read_proc("/proc/" + std::to_string(pid) + "/stat");
  auto after_name = text.rfind(") ");
  if (after_name == std::string::npos) return "";
  std::istringstream fields(text.substr(after_name + 2));
  std::string field;
  for (int i = 3; i <= 22 && fields >> field; ++i) {
    if (i == 3 && (field == "Z" || field == "X")) return "";  // dead, and not yet reaped
  }
  return field;
}

std::string variable_of(const std::string& mark) { return "HARENA_FAKE_SANDBOX=" + mark; }

Result<pid_t> spawn(const std::string& shim, std::vector<std::string> arguments, std::string variable, int ready) {
  std::vector<char*> argv{const_cast<char*>(shim.c_str())};
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::vector<char*> environment{variable.data()};
  for (char** one = environ; *one != nullptr; ++one) environment.push_back(*one);
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&actions, ready, kReadyFd);  // the copy isn't CLOEXEC
  const OwnSession session;
  pid_t pid = -1;
  int failed = ::posix_spawn(&pid, shim.c_str(), &actions, session.get(), argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed == 0) return pid;
  return make_error(ErrorCode::failed_precondition, "starting harena-shim '" + shim + "': " + errno_error(failed, "exec").message);
}

// Until the shim writes to its ready descriptor; its end without a byte means that it died.
Status wait_ready(const Call& call, int fd) {
  for (std::int64_t left = call.remaining_ms(kReadyLimitMs); left > 0; left = std::min(left - kReadyPollMs, call.remaining_ms(left))) {
    HARENA_TRY_STATUS(call.check());
    pollfd waited{fd, POLLIN, 0};
    if (::poll(&waited, 1, kReadyPollMs) <= 0) continue;
    char byte = 0;
    if (::read(fd, &byte, 1) == 1) return ok_status();
    return make_error(ErrorCode::unavailable, "harena-shim ended before it was ready");
  }
  return make_error(ErrorCode::deadline_exceeded, "harena-shim wasn't ready in time");
}

// Reaps when it is this process's child; after a restart it is init's.
bool ended(pid_t pid, const std::string& start_time) {
  ::waitpid(pid, nullptr, WNOHANG);
  return start_time_of(pid) != start_time;
}

// The pids of processes that have `variable` in the environment that they were started with.
std::vector<pid_t> pids_with(const std::string& variable) {
  std::vector<pid_t> pids;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
    std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::string text = read_proc(entry.path() / "environ");
    text.insert(text.begin(), '\0');  // each variable between two zeros
    if (text.find('\0' + variable + '\0') != std::string::npos) pids.push_back(std::stoi(name));
  }
  return pids;
}

bool wait_end(pid_t pid, const std::string& start_time, std::int64_t limit_ms) {
  // pidfd_open(2): readable when the process ends, whoever's child it is.
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd || ended(pid, start_time)) return ended(pid, start_time);
  pollfd waited{pidfd.get(), POLLIN, 0};
  ::poll(&waited, 1, static_cast<int>(limit_ms));
  return ended(pid, start_time);
}

}  // namespace

bool shim_runs(const json& session) {
  if (!session.contains("pid")) return false;
  return start_time_of(session["pid"].get<pid_t>()) == session.value("start_time", "");
}

void stop_shim(const json& session, std::int64_t grace_ms) {
  if (!shim_runs(session)) return;
  pid_t pid = session["pid"];
  std::string start_time = session["start_time"];
  ::kill(pid, SIGTERM);
  if (wait_end(pid, start_time, std::clamp<std::int64_t>(grace_ms, 0, 60'000) + kKillLimitMs)) return;
  ::kill(pid, SIGKILL);
  wait_end(pid, start_time, kKillLimitMs);
}

void end_marked(const std::string& mark) {
  for (pid_t pid : pids_with(variable_of(mark))) {
    std::string start_time = start_time_of(pid);
    ::kill(pid, SIGKILL);
    wait_end(pid, start_time, kKillLimitMs);
  }
}

Result<json> start_shim(const Call& call, const std::string& shim, const std::string& run_dir, const std::string& sandbox_id,
                        const std::string& mark) {
  if (shim.empty()) {
    return make_error(ErrorCode::failed_precondition, "session 'host' needs the path of harena-shim in the fake's configuration key 'shim'");
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error(errno, "making a pipe");
  UniqueFd ours(ends[0]), theirs(ends[1]);
  HARENA_TRY(pid_t pid, spawn(shim, {"--run-dir", run_dir, "--sandbox", sandbox_id, "--mode", "host", "--ready-fd", std::to_string(kReadyFd)},
                              variable_of(mark), theirs.get()));
  theirs.reset();
  json session = {{"pid", pid}, {"start_time", start_time_of(pid)}, {"endpoint", run_dir + "/session.sock"}};
  if (auto ready = wait_ready(call, ours.get()); !ready.ok()) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return std::move(ready).error();
  }
  return session;
}

}  // namespace harena::fake
