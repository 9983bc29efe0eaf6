#include "plugins/e2b/envd/sandbox_metrics.hpp"

#include <chrono>
#include <cmath>

#include "plugins/e2b/envd/http/rest_answer.hpp"
#include "sdk/base/clock.hpp"
#include "sdk/base/text.hpp"

namespace harena::e2b {

using http::Task;
using nlohmann::json;

namespace {

/// Between two readings, to tell how busy it is now.
constexpr std::chrono::milliseconds kInterval{100};
constexpr std::int64_t kMiB = 1 << 20;

std::int64_t number(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<std::int64_t>() : 0;
}

/// A size as the backends' parameters have it: "512MiB" or bytes.
std::int64_t size_of(const json& params, const char* key) {
  const auto found = params.find(key);
  if (found == params.end()) return number(params, (std::string(key) + "_bytes").c_str());
  if (found->is_number_integer()) return found->get<std::int64_t>();
  if (!found->is_string()) return 0;
  return parse_size(found->get<std::string>()).value_or(0);
}

double cores_of(const json& params) {
  const auto found = params.find("cpu");
  return found != params.end() && found->is_number() ? found->get<double>() : 0.0;
}

double percent(const json& before, const json& after, double cores, std::int64_t elapsed_ns) {
  const auto used = static_cast<double>(number(after, "cpu_ns") - number(before, "cpu_ns"));
  if (elapsed_ns <= 0 || used <= 0) return 0;
  const double value = 100 * used / (static_cast<double>(elapsed_ns) * std::max(cores, 1.0));
  return std::round(value * 100) / 100;
}

}  // namespace

json metrics_document(const json& before, const json& after, const json& sandbox, std::int64_t elapsed_ns, std::int64_t now_s) {
  const auto params = sandbox.value("params", json::object());
  const double cores = cores_of(params);
  const auto memory = number(after, "memory_bytes");
  const auto memory_limit = std::max(number(after, "memory_limit_bytes"), size_of(params, "memory"));
  const auto disk_limit = std::max(number(after, "disk_limit_bytes"), size_of(params, "disk"));
  return {{"ts", now_s},
          {"cpu_count", static_cast<std::int64_t>(std::ceil(std::max(cores, 1.0)))},
          {"cpu_used_pct", percent(before, after, cores, elapsed_ns)},
          {"mem_total", memory_limit},
          {"mem_used", memory},
          {"mem_cache", number(after, "memory_cache_bytes")},
          {"mem_total_mib", memory_limit / kMiB},
          {"mem_used_mib", memory / kMiB},
          {"disk_used", number(after, "disk_bytes")},
          {"disk_total", disk_limit},
          {"oom_kills", number(after, "oom_kills")}};
}

Task<Status> answer_metrics(EnvdCall& call) {
  const SystemClock clock;
  const auto begin = clock.monotonic_ns();
  auto before = co_await call.api.ask("GET", call.target("/usage"));
  if (!before) co_return co_await send_rest_error(call.response, std::move(before).error());
  co_await http::sleep_for(kInterval);
  auto after = co_await call.api.ask("GET", call.target("/usage"));
  if (!after) co_return co_await send_rest_error(call.response, std::move(after).error());
  auto sandbox = co_await call.api.ask("GET", call.target(""));
  if (!sandbox) co_return co_await send_rest_error(call.response, std::move(sandbox).error());
  auto document = metrics_document(*before, *after, *sandbox, clock.monotonic_ns() - begin, clock.wall_ms() / 1000);
  co_return co_await send_rest_json(call.response, 200, std::move(document));
}

}  // namespace harena::e2b
