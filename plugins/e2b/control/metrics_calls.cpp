// Metrics: measured when they are asked for. Nothing is recorded, so a list has the one sample of now, or none when the range
// that was asked for is in the past.
#include <chrono>

#include "plugins/e2b/control/list_calls.hpp"
#include "plugins/e2b/control/sandbox_store.hpp"
#include "sdk/base/rfc3339.hpp"
#include "sdk/base/text.hpp"

namespace harena::e2b {

using http::Task;
using nlohmann::json;

namespace {

/// Between the two readings of the CPU time.
constexpr std::chrono::milliseconds kWindow{100};
constexpr std::size_t kMaxIds = 100;

double percent_of(std::int64_t cpu_ns, std::chrono::nanoseconds wall, double cpus) {
  if (wall.count() <= 0 || cpus <= 0) return 0;
  const double percent = 100.0 * static_cast<double>(cpu_ns) / (static_cast<double>(wall.count()) * cpus);
  return percent < 0 ? 0 : percent;
}

Task<Result<json>> measure(SandboxStore& store, const Record& record, std::int64_t now_ms) {
  HARENA_CO_TRY(const auto first, co_await store.usage(record.id));
  const auto begin = std::chrono::steady_clock::now();
  co_await http::sleep_for(kWindow);
  HARENA_CO_TRY(const auto second, co_await store.usage(record.id));
  const auto cpu_ns = second.value("cpu_ns", std::int64_t{0}) - first.value("cpu_ns", std::int64_t{0});
  const json listed = listed_json(record);
  json sample = {{"timestamp", rfc3339(now_ms)},
                 {"timestampUnix", now_ms / 1000},
                 {"cpuCount", listed.at("cpuCount")},
                 {"cpuUsedPct", percent_of(cpu_ns, std::chrono::steady_clock::now() - begin, record.cpu)},
                 {"memUsed", second.value("memory_bytes", std::int64_t{0})},
                 {"memTotal", record.memory_bytes},
                 {"memCache", second.value("memory_cache_bytes", std::int64_t{0})},
                 {"diskUsed", second.value("disk_bytes", std::int64_t{0})},
                 {"diskTotal", record.disk_bytes}};
  co_return sample;
}

/// Unix seconds; some clients send milliseconds, which no second of this age is.
Result<std::optional<std::int64_t>> second_of(const http::Query& query, const char* name) {
  const auto text = query.get(name);
  if (!text || text->empty()) return std::optional<std::int64_t>();
  HARENA_TRY(const auto value, parse_int(*text, 0, INT64_MAX, name));
  constexpr std::int64_t kFirstMilliseconds = 100'000'000'000;
  return std::optional(value >= kFirstMilliseconds ? value / 1000 : value);
}

}  // namespace

AnswerTask sandbox_metrics(ControlCall& call) {
  HARENA_CO_TRY(const auto query, call.request.query());
  HARENA_CO_TRY(const auto start, second_of(query, "start"));
  HARENA_CO_TRY(const auto end, second_of(query, "end"));
  if (start && end && *start > *end) {
    co_return make_error(ErrorCode::invalid_argument, "start is " + std::to_string(*start) + ", after end, which is " + std::to_string(*end));
  }
  SandboxStore store(call.services, call.key);
  HARENA_CO_TRY(const auto record, co_await store.living(call.param("id")));
  const auto now_ms = call.services.clock.wall_ms();
  const auto now_s = now_ms / 1000;
  Answer answer{200, json::array()};
  const bool outside = (start && *start > now_s) || (end && *end < now_s);
  if (outside) co_return answer;
  HARENA_CO_TRY(auto sample, co_await measure(store, record, now_ms));
  answer.body.push_back(std::move(sample));
  co_return answer;
}

AnswerTask metrics_of_sandboxes(ControlCall& call) {
  HARENA_CO_TRY(const auto query, call.request.query());
  const auto ids = split(query.get("sandbox_ids").value_or(""), ',');
  if (ids.empty() || ids.size() > kMaxIds) {
    co_return make_error(ErrorCode::invalid_argument, "sandbox_ids has " + std::to_string(ids.size()) + " ids; 1 to 100 are right");
  }
  SandboxStore store(call.services, call.key);
  json found = json::object();
  for (const auto& id : ids) {
    auto record = co_await store.living(id);
    if (!record.ok() && record.error().code == ErrorCode::not_found) continue;
    if (!record.ok()) co_return std::move(record).error();
    HARENA_CO_TRY(found[id], co_await measure(store, *record, call.services.clock.wall_ms()));
  }
  json body = {{"sandboxes", std::move(found)}};
  co_return Answer{200, std::move(body)};
}

}  // namespace harena::e2b
