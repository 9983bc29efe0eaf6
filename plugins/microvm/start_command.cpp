#include "plugins/microvm/start_command.hpp"

#include "sdk/session/client/run_blocking.hpp"
#include "sdk/session/client/session_client.hpp"
#include "sdk/support/process.hpp"

namespace harena::microvm {
namespace {

using namespace session;

constexpr std::uint64_t kTryMs = 10'000;
constexpr std::chrono::milliseconds kBetweenTries{100};

std::string how(const ExitStatus& exit) {
  return exit.signal != 0 ? "signal " + std::to_string(exit.signal) : "exit code " + std::to_string(exit.code);
}

StartRequest request_of(const StartSpec& start, const std::string& shell) {
  StartRequest request;
  request.shell = shell;
  request.user = start.user;
  request.cwd = start.folder;
  return request;
}

class Starter {
 public:
  Starter(const std::string& endpoint, const StartSpec& start, const std::function<Status()>& check)
      : client_(Endpoint::over_unix(endpoint)), start_(start), check_(check) {}

  http::Task<Status> run() {
    auto request = request_of(start_, start_.command);
    request.op = "start-command";
    HARENA_CO_TRY(const auto started, co_await client_.start(std::move(request)));
    const std::int64_t deadline = monotonic_now_ns() + start_.ready_timeout_s * 1'000'000'000;
    std::string last = "it wasn't tried";
    while (!start_.ready.empty()) {
      HARENA_CO_TRY_STATUS(check_());
      HARENA_CO_TRY_STATUS(co_await still_well(started.command));
      HARENA_CO_TRY(const auto exit, co_await run_to_end(request_of(start_, start_.ready)));
      if (exit.signal == 0 && exit.code == 0) co_return Status();
      last = how(exit);
      if (monotonic_now_ns() >= deadline) {
        co_return make_error(ErrorCode::deadline_exceeded, "the ready command didn't end with 0 within " + std::to_string(start_.ready_timeout_s) +
                                                               " s; its last " + last);
      }
      co_await http::sleep_for(kBetweenTries);
    }
    co_return Status();
  }

  http::Task<Result<ExitStatus>> run_to_end(StartRequest request) {
    request.timeout_ms = kTryMs;
    HARENA_CO_TRY(const auto started, co_await client_.start(std::move(request)));
    HARENA_CO_TRY(const auto info, co_await client_.wait(started.command, 2 * kTryMs));
    (void)co_await client_.forget(started.command);
    ExitStatus exit;
    exit.code = 255;
    co_return info.exit ? *info.exit : exit;
  }

  /// As the API runs a command whose output is read.
  http::Task<Status> run_attached(StartRequest request) {
    HARENA_CO_TRY(auto attached, co_await client_.start_attached(std::move(request)));
    while (true) {
      HARENA_CO_TRY(const auto event, co_await attached.output.next());
      if (event.kind == OutputEvent::Kind::end) break;
    }
    co_return co_await client_.forget(attached.started.command);
  }

 private:
  http::Task<Status> still_well(std::string command) {
    HARENA_CO_TRY(const auto info, co_await client_.info(std::move(command)));
    if (!info.exit || (info.exit->code == 0 && info.exit->signal == 0)) co_return Status();
    Error ended = make_error(ErrorCode::failed_precondition, "the start command ended with " + how(*info.exit) + " before it was ready");
    ended.cause = Cause::agent;
    co_return ended;
  }

  SessionClient client_;
  const StartSpec& start_;
  const std::function<Status()>& check_;
};

}  // namespace

StartSpec start_of(const json& request, const Parameters& parameters) {
  const json image = request.value("image_config", json::object());
  StartSpec start = parameters.start;
  start.user = parameters.user.empty() ? image.value("user", "") : parameters.user;
  start.folder = image.value("workdir", "");
  return start;
}

Status run_start_command(const std::string& endpoint, const StartSpec& start, const std::function<Status()>& check) {
  if (start.command.empty()) return {};
  Starter starter(endpoint, start, check);
  return run_blocking(starter.run());
}

void run_nothing(const std::string& endpoint) {
  const StartSpec start;
  const std::function<Status()> check = [] { return Status(); };
  Starter starter(endpoint, start, check);
  (void)run_blocking(starter.run_attached(request_of(start, "true")));
}

}  // namespace harena::microvm
