#include "plugins/microvm/clone_hooks.hpp"

#include <algorithm>
#include <chrono>

#include "sdk/session/client/run_blocking.hpp"
#include "sdk/session/client/session_client.hpp"
#include "sdk/session/tunnel/clone_hooks.hpp"
#include "sdk/support/process.hpp"

namespace harena::microvm {
namespace {

using json = nlohmann::json;
using namespace session;

constexpr std::size_t kToldOutputBytes = 500;
/// The limit is the guest's to keep; after so much more one that doesn't answer has been asked for the last time.
constexpr std::int64_t kHostExtraMs = 5'000;
constexpr std::uint64_t kKeptOutputBytes = 64 << 10;
constexpr std::int64_t kNsPerMs = 1'000'000;

struct HookEnd {
  ExitStatus exit;
  std::string output;  // the last of it
};

class HookRunner {
 public:
  HookRunner(const std::string& endpoint, const MachineConfig& config) : client_(Endpoint::over_unix(endpoint)), config_(config) {}

  http::Task<json> run(std::string name, std::int64_t patience_ms) {
    const std::int64_t begun = monotonic_now_ns();
    json result = {{"name", name}};
    auto running = run_to_exit(name, patience_ms);
    const std::chrono::milliseconds most(patience_ms + kHostExtraMs);
    auto end = co_await http::with_timeout(std::move(running), most, "the guest's answer about it");
    result["ms"] = (monotonic_now_ns() - begun) / kNsPerMs;
    if (!end.ok()) {
      result["error"] = end.error().message;
      co_return result;
    }
    const ExitStatus& exit = end->exit;
    const bool too_long = exit.cause == ExitCause::timeout;
    if (too_long) {
      result["error"] = "it didn't end within " + std::to_string(patience_ms) + " ms";
    } else if (exit.signal != 0) {
      result["signal"] = exit.signal;
    } else {
      result["exit_code"] = exit.code;
    }
    if (too_long || exit.signal != 0 || exit.code != 0) result["output"] = std::move(end->output);
    co_return result;
  }

 private:
  http::Task<Result<HookEnd>> run_to_exit(std::string name, std::int64_t patience_ms) {
    StartRequest request;
    request.argv = {"/" + std::string(kCloneHookFolder) + "/" + name};
    request.cwd = "/";
    request.env = hook_environment(config_);
    request.timeout_ms = static_cast<std::uint64_t>(patience_ms);
    request.output_limit_bytes = kKeptOutputBytes;
    HARENA_CO_TRY(auto attached, co_await client_.start_attached(std::move(request)));
    HookEnd end;
    while (true) {
      HARENA_CO_TRY(const auto event, co_await attached.output.next());
      if (event.kind == OutputEvent::Kind::output) end.output += event.bytes;
      if (end.output.size() > kToldOutputBytes) end.output.erase(0, end.output.size() - kToldOutputBytes);
      if (event.kind == OutputEvent::Kind::exit) end.exit = event.exit;
      if (event.kind == OutputEvent::Kind::exit || event.kind == OutputEvent::Kind::end) break;
    }
    // Its processes go with it, and nobody finds it among the sandbox's commands.
    HARENA_CO_TRY_STATUS(co_await client_.forget(attached.started.command));
    co_return end;
  }

  SessionClient client_;
  const MachineConfig& config_;
};

/// What a guest says may be any bytes, and is cut anywhere; a report is text.
json as_text(const json& results) { return json::parse(results.dump(-1, ' ', false, json::error_handler_t::replace)); }

}  // namespace

std::vector<std::pair<std::string, std::string>> hook_environment(const MachineConfig& config) {
  return {{"HARENA_SANDBOX_ID", config.sandbox}, {"HARENA_HOSTNAME", config.hostname}, {"HARENA_MACHINE_ID", config.machine_id}};
}

json run_clone_hooks(const std::string& endpoint, const MachineConfig& config, const json& names,
                     const std::function<Status()>& check) {
  json results = json::array();
  if (!names.is_array()) return results;
  const std::int64_t deadline = monotonic_now_ns() + kHooksPatienceMs * kNsPerMs;
  for (const auto& entry : names) {
    const std::string name = entry.is_string() ? entry.get<std::string>() : std::string();
    if (!is_clone_hook(name) || results.size() == kMostCloneHooks) continue;
    const std::int64_t left_ms = (deadline - monotonic_now_ns()) / kNsPerMs;
    if (Status wanted = check(); !wanted.ok() || left_ms <= 0) {
      const std::string why = wanted.ok() ? "the hooks before it took too long" : wanted.error().message;
      results.push_back({{"name", name}, {"error", "it wasn't run: " + why}});
      continue;
    }
    HookRunner runner(endpoint, config);
    json result = json::object();
    const auto run = [&]() -> http::Task<Status> {
      result = co_await runner.run(name, std::min(left_ms, kHookPatienceMs));
      co_return Status();
    };
    if (Status done = run_blocking(run()); !done.ok()) result = {{"name", name}, {"error", done.error().message}};
    results.push_back(std::move(result));
  }
  return as_text(results);
}

std::string failed_hooks(const json& results) {
  std::string text;
  for (const auto& result : results) {
    const bool failed = result.contains("error") || result.contains("signal") || result.value("exit_code", 0) != 0;
    if (!failed) continue;
    const std::string how = result.contains("error")    ? result["error"].get<std::string>()
                            : result.contains("signal") ? "signal " + result["signal"].dump()
                                                        : "exit code " + result["exit_code"].dump();
    text += (text.empty() ? "" : "; ") + result["name"].get<std::string>() + ": " + how;
  }
  return text;
}

}  // namespace harena::microvm
