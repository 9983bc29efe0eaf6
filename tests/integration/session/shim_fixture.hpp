#pragma once
// A shim of its own for each test, and a loop to run coroutines on.

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sdk/session/client/session_client.hpp"

namespace harena::session {

inline std::string shim_path() {
  const char* build = std::getenv("HARENA_BUILD_DIR");
  return std::string(build != nullptr ? build : ".") + "/bin/harena-shim";
}

class ShimProcess {
 public:
  explicit ShimProcess(std::vector<std::string> extra = {"--mode", "host"}) {
    char pattern[] = "/tmp/harena-shim-XXXXXX";
    folder_ = ::mkdtemp(pattern);
    int ready[2];
    if (::pipe(ready) != 0) std::abort();
    std::vector<std::string> words = {shim_path(), "--run-dir", run_dir(), "--sandbox", "test", "--ready-fd", std::to_string(ready[1])};
    words.insert(words.end(), extra.begin(), extra.end());
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that crashes leaves no shim
      ::close(ready[0]);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(ready[1]);
    char byte = 0;
    started_ = ::read(ready[0], &byte, 1) == 1;
    ::close(ready[0]);
  }
  ~ShimProcess() {
    if (pid_ > 0) {
      ::kill(pid_, SIGTERM);
      ::waitpid(pid_, nullptr, 0);
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  bool started() const { return started_; }
  pid_t pid() const { return pid_; }
  std::string run_dir() const { return folder_ + "/run"; }
  std::string folder() const { return folder_; }
  std::string socket() const { return run_dir() + "/session.sock"; }

 private:
  std::string folder_;
  pid_t pid_ = -1;
  bool started_ = false;
};

struct RunResult {
  std::string out;
  std::string err;
  ExitStatus exit;
  std::string command;
  /// The op was known: nothing was started.
  bool existing = false;
  bool exited = false;
  int after_exit = 0;
  bool out_truncated = false;
  /// Which limit: as in Truncated, of either stream.
  std::string truncated_by;
};

inline StartRequest shell(std::string text) {
  StartRequest request;
  request.shell = std::move(text);
  return request;
}

inline StartRequest argv(std::vector<std::string> words) {
  StartRequest request;
  request.argv = std::move(words);
  return request;
}

/// Everything until `end`; checks that offsets have no gap and no repetition.
inline Task<Result<RunResult>> collect(OutputReader& output, std::uint64_t out_offset = 0) {
  RunResult result;
  std::uint64_t next_out = out_offset, next_err = 0;
  for (;;) {
    HARENA_CO_TRY(auto event, co_await output.next());
    if (event.kind == OutputEvent::Kind::end) co_return result;
    if (result.exited) ++result.after_exit;
    if (event.kind == OutputEvent::Kind::exit) result.exited = true, result.exit = event.exit;
    if (event.kind == OutputEvent::Kind::truncated) result.truncated_by = event.truncated.limit;
    if (event.kind == OutputEvent::Kind::truncated && event.stream == Stream::out) result.out_truncated = true;
    if (event.kind != OutputEvent::Kind::output) continue;
    auto& expected = event.stream == Stream::out ? next_out : next_err;
    if (event.offset != expected) co_return make_error(ErrorCode::data_loss, "offset " + std::to_string(event.offset) + " instead of " + std::to_string(expected));
    expected += event.bytes.size();
    (event.stream == Stream::out ? result.out : result.err) += event.bytes;
  }
}

inline Task<Result<RunResult>> run(SessionClient client, StartRequest request) {
  HARENA_CO_TRY(auto attached, co_await client.start_attached(std::move(request)));
  HARENA_CO_TRY(auto result, co_await collect(attached.output));
  result.command = attached.started.command;
  result.existing = attached.started.existing;
  co_return result;
}

class SessionTest : public ::testing::Test {
 protected:
  explicit SessionTest(std::vector<std::string> shim_options = {"--mode", "host"}) : shim(std::move(shim_options)) {}
  void SetUp() override { ASSERT_TRUE(shim.started()) << "no " << shim_path(); }

  template <class T>
  T await(Task<T> task) {
    std::optional<T> out;
    io.restart();
    boost::asio::co_spawn(io, http::detail::store_result(std::move(task), out), [&](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);
    });
    while (!out) io.run_one();
    return std::move(*out);
  }
  /// Runs beside others; `done` gets the result.
  template <class T>
  void spawn(Task<T> task, std::function<void(T)> done) {
    auto out = std::make_shared<std::optional<T>>();
    boost::asio::co_spawn(io, http::detail::store_result(std::move(task), *out), [out, done](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);
      done(std::move(**out));
    });
  }
  RunResult must_run(StartRequest request) {
    auto result = await(run(client, std::move(request)));
    EXPECT_TRUE(result) << (result ? "" : result.error().describe());
    return result ? *std::move(result) : RunResult{};
  }

  ShimProcess shim;
  boost::asio::io_context io{1};
  std::shared_ptr<Endpoint> endpoint = Endpoint::over_unix(shim.socket());
  SessionClient client{endpoint};
};

}  // namespace harena::session
