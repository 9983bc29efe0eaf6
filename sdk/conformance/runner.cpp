#include "sdk/conformance/runner.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "sdk/base/unique_fd.hpp"
#include "sdk/conformance/leftovers.hpp"

namespace harena::conformance {
namespace {

constexpr std::size_t kMaxOutput = 4096;

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  for (;;) {
    ssize_t n = ::read(fd, buffer, sizeof(buffer));
    if (n <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

// Not until the pipe's end: a grandchild may hold it. True when the child ended in time.
bool wait_exit(pid_t pid, int limit_ms, int* status) {
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd waited{pidfd.get(), POLLIN, 0};
  int ready = 0;
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit_ms);
  do {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    ready = ::poll(&waited, 1, static_cast<int>(std::max<long>(left, 0)));
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) ::kill(pid, SIGKILL);
  ::waitpid(pid, status, 0);
  return ready > 0;
}

void send_document(int fd, const json& document) {
  std::string text = document.dump(-1, ' ', false, json::error_handler_t::replace);
  std::size_t sent = 0;
  while (sent < text.size()) {
    ssize_t n = ::write(fd, text.data() + sent, text.size() - sent);
    if (n <= 0) return;
    sent += static_cast<std::size_t>(n);
  }
}

// A mount namespace of the case's own: what the plugin mounts and forgets is seen, and goes with the case.
void separate_mounts() {
  if (::unshare(CLONE_NEWNS) == 0) ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
}

json run_body(const Case& one, Context& context) {
  auto document = [&](const char* outcome, const std::string& message) {
    return json{{"outcome", outcome}, {"message", message}, {"warnings", context.warnings()}};
  };
  try {
    if (!one.contract.empty() && !context.has_contract(one.contract)) {
      return document("skipped", "the plugin doesn't have the contract " + one.contract);
    }
    one.body(context);
    return document(context.warnings().empty() ? "passed" : "warning", "");
  } catch (const Failed& failed) {
    return document("failed", failed.message);
  } catch (const Skipped& skipped) {
    return document("skipped", skipped.reason);
  } catch (const std::exception& e) {
    return document("failed", std::string("an exception came out of the plugin or of the case: ") + e.what());
  } catch (...) {
    return document("failed", "something that is no std::exception was thrown out of the plugin");
  }
}

[[noreturn]] void case_main(const Case& one, const Subject& subject, const std::filesystem::path& tmp, int out, int log) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  separate_mounts();
  {
    auto* context = new Context(subject, tmp);  // not destroyed: a plugin that hangs at its end is another case
    send_document(out, run_body(one, *context));
  }
  ::_exit(0);
}

Outcome outcome_from(const std::string& name) {
  for (Outcome one : {Outcome::passed, Outcome::failed, Outcome::skipped, Outcome::warning}) {
    if (to_string(one) == name) return one;
  }
  return Outcome::failed;
}

std::string tail_of(int log) {
  ::lseek(log, 0, SEEK_SET);
  std::string text = read_all(log);
  return text.size() <= kMaxOutput ? text : "..." + text.substr(text.size() - kMaxOutput);
}

void judge(CaseReport& report, bool in_time, int status, const std::string& sent) {
  json document = json::parse(sent, nullptr, false);
  if (!in_time) {
    report.outcome = Outcome::timed_out;
    report.message = "didn't end in time";
  } else if (WIFSIGNALED(status)) {
    report.outcome = Outcome::crashed;
    report.message = std::string("ended by signal ") + ::strsignal(WTERMSIG(status));
  } else if (!document.is_object()) {
    report.outcome = Outcome::failed;
    report.message = "the plugin ended the process with status " + std::to_string(WEXITSTATUS(status));
  } else {
    report.outcome = outcome_from(document["outcome"]);
    report.message = document["message"];
    for (const auto& warning : document["warnings"]) report.message += (report.message.empty() ? "" : "; ") + warning.get<std::string>();
  }
}

std::filesystem::path make_tmp() {
  std::string pattern = (std::filesystem::temp_directory_path() / "harena-check-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw Failed{"making a temporary folder: " + std::string(std::strerror(errno))};
  return pattern;
}

}  // namespace

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::passed: return "passed";
    case Outcome::failed: return "failed";
    case Outcome::crashed: return "crashed";
    case Outcome::timed_out: return "timed out";
    case Outcome::skipped: return "skipped";
    case Outcome::warning: return "warning";
  }
  return "failed";
}

bool is_bad(Outcome outcome) {
  return outcome == Outcome::failed || outcome == Outcome::crashed || outcome == Outcome::timed_out;
}

CaseReport run_case(const Case& one, const Subject& subject) {
  CaseReport report{.name = one.name, .level = one.level, .promise = one.promise, .message = {}, .output = {}};
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  auto tmp = make_tmp();
  const auto others = children_of(::getpid());
  auto start = std::chrono::steady_clock::now();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Failed{"making a pipe"};
  UniqueFd in(ends[0]), out(ends[1]);
  UniqueFd log(::memfd_create("case-output", MFD_CLOEXEC));
  pid_t pid = ::fork();  // the kit has one thread and has loaded no plugin
  if (pid == 0) case_main(one, subject, tmp, out.get(), log.get());
  out.reset();
  int status = 0;
  bool in_time = wait_exit(pid, one.timeout_s * subject.patience * 1000, &status);
  end_new_children(others);  // orphans of the case
  ::fcntl(in.get(), F_SETFL, O_NONBLOCK);
  judge(report, in_time, status, read_all(in.get()));
  report.output = tail_of(log.get());
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::error_code ignored;
  std::filesystem::remove_all(tmp, ignored);
  return report;
}

Child::Child(const std::function<json()>& body) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw Failed{"making a pipe"};
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(ends[0]);
    try {
      send_document(ends[1], json{{"value", body()}});
    } catch (const Failed& failed) {
      send_document(ends[1], json{{"failure", failed.message}});
    } catch (const std::exception& e) {
      send_document(ends[1], json{{"failure", std::string("exception: ") + e.what()}});
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  in_ = ends[0];
}

Child::~Child() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (in_ >= 0) ::close(in_);
}

bool Child::ended() const {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
}

void Child::wait_for(const std::filesystem::path& file, int limit_s) {
  auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(limit_s);
  while (!std::filesystem::exists(file)) {
    if (ended()) {
      auto end = wait();
      throw Failed{end.failure.empty() ? "a host process ended before its time, by signal " + std::to_string(end.signal) : end.failure};
    }
    if (std::chrono::steady_clock::now() > limit) throw Failed{"a host process didn't come as far as it should"};
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void Child::kill_hard() { ::kill(pid_, SIGKILL); }

ChildEnd Child::wait(int limit_s) {
  int status = 0;
  bool in_time = wait_exit(pid_, limit_s * 1000, &status);
  pid_ = -1;
  if (!in_time) throw Failed{"a host process didn't end within " + std::to_string(limit_s) + " s"};
  ::fcntl(in_, F_SETFL, O_NONBLOCK);
  json document = json::parse(read_all(in_), nullptr, false);
  ChildEnd end;
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status), end.killed = end.signal == SIGKILL;
  if (document.is_object()) end.failure = document.value("failure", ""), end.value = document.value("value", json());
  if (!document.is_object() && !WIFSIGNALED(status)) end.failure = "the process ended with status " + std::to_string(WEXITSTATUS(status));
  return end;
}

}  // namespace harena::conformance
