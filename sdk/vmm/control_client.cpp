#include "sdk/vmm/control_client.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "sdk/support/fault.hpp"
#include "sdk/support/spawn_attributes.hpp"
#include "sdk/vmm/control_server.hpp"

namespace harena::vmm {
namespace {

/// How often a wait looks whether its call was cancelled.
constexpr int kLookMs = 50;
constexpr int kFirstFd = 3;
constexpr std::size_t kMaxReadyBytes = 64 << 10;

/// Descriptors above those that they become, so that no dup2 meets another's source.
std::vector<UniqueFd> put_aside(const std::vector<int>& fds) {
  std::vector<UniqueFd> aside;
  for (int fd : fds) aside.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 64));
  return aside;
}

Result<pid_t> spawn(const std::string& program, const std::string& config, const std::vector<int>& fds) {
  const auto aside = put_aside(fds);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  for (std::size_t i = 0; i < aside.size(); ++i) posix_spawn_file_actions_adddup2(&actions, aside[i].get(), kFirstFd + static_cast<int>(i));
  // It counts what it is given: a descriptor that leaked into this process mustn't follow behind.
  posix_spawn_file_actions_addclosefrom_np(&actions, kFirstFd + static_cast<int>(aside.size()));
  const OwnSession session;
  char* argv[] = {const_cast<char*>(program.c_str()), const_cast<char*>("--config"), const_cast<char*>(config.c_str()), nullptr};
  const std::string fault = fault_variable();
  char* environment[] = {const_cast<char*>("PATH=/usr/sbin:/usr/bin:/sbin:/bin"),
      fault.empty() ? nullptr : const_cast<char*>(fault.c_str()), nullptr};
  pid_t pid = -1;
  const int failed = ::posix_spawn(&pid, program.c_str(), &actions, session.get(), argv, environment);
  posix_spawn_file_actions_destroy(&actions);
  if (failed == 0) return pid;
  return errno_error(failed, "starting " + program);
}

Result<json> read_ready(int fd, const CheckCall& check) {
  std::string text;
  while (true) {
    HARENA_TRY_STATUS(check());
    pollfd waited{fd, POLLIN, 0};
    if (::poll(&waited, 1, kLookMs) <= 0) continue;
    char bytes[4096];
    const ssize_t got = ::read(fd, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(bytes, static_cast<std::size_t>(got));
    if (text.ends_with('\n') || text.size() > kMaxReadyBytes) break;
  }
  const json document = json::parse(text, nullptr, false);
  if (document.is_object() && document.contains("ok")) return document["ok"];
  if (document.is_object() && document.contains("error")) return error_of_control(document["error"]);
  return infrastructure_error(ErrorCode::unavailable, "machine", "the machine's process ended before it was ready");
}

Status wait_for(int fd, short events, std::int64_t deadline_ns) {
  while (true) {
    pollfd waited{fd, events, 0};
    const int ready = ::poll(&waited, 1, poll_timeout_ms(deadline_ns));
    if (ready > 0) return {};
    if (ready == 0) return make_error(ErrorCode::deadline_exceeded, "the machine's process didn't answer in time");
    if (errno != EINTR) return errno_error(errno, "poll");
  }
}

Error nobody(const std::string& why) {
  return infrastructure_error(ErrorCode::unavailable, "machine", "the machine's process can't be asked: " + why);
}

}  // namespace

Result<StartedProcess> start_machine_process(const std::string& program, const std::string& config, const std::vector<int>& fds,
                                             const CheckCall& check) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error(errno, "pipe2");
  UniqueFd ready(ends[0]), theirs(ends[1]);
  std::vector<int> passed = {theirs.get()};
  passed.insert(passed.end(), fds.begin(), fds.end());
  HARENA_TRY(const pid_t pid, spawn(program, config, passed));
  theirs.reset();
  auto told = read_ready(ready.get(), check);
  auto process = process_ref(pid);
  if (told.ok() && process.ok()) return StartedProcess{*process, *std::move(told), std::move(ready)};
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  return told.ok() ? std::move(process).error() : std::move(told).error();
}

Result<json> ask_machine_process(const std::string& path, const json& request, std::int64_t patience_ms) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return make_error(ErrorCode::invalid_argument, "the path " + path + " is too long for a socket");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return errno_error(errno, "socket");
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return nobody(std::strerror(errno));
  const std::string text = request.dump();
  if (::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0) return nobody(std::strerror(errno));
  HARENA_TRY_STATUS(wait_for(socket.get(), POLLIN, monotonic_now_ns() + patience_ms * 1'000'000));
  // The console's text is up to twice what is kept, and escaped.
  std::string answer(1 << 20, '\0');
  const ssize_t got = ::recv(socket.get(), answer.data(), answer.size(), 0);
  if (got <= 0) return nobody(got == 0 ? "it ended while it was at it" : std::strerror(errno));
  answer.resize(static_cast<std::size_t>(got));
  const json document = json::parse(answer, nullptr, false);
  if (document.is_object() && document.contains("ok")) return document["ok"];
  if (document.is_object() && document.contains("error")) return error_of_control(document["error"]);
  return nobody("an answer that isn't one");
}

}  // namespace harena::vmm
