// Logs: what envd would have written, which is the commands of a sandbox: their starts and their ends.
#include <algorithm>

#include "plugins/e2b/control/list_calls.hpp"
#include "plugins/e2b/control/sandbox_store.hpp"
#include "sdk/base/rfc3339.hpp"
#include "sdk/base/text.hpp"

namespace harena::e2b {

using http::Task;
using nlohmann::json;

namespace {

struct Entry {
  std::int64_t at_ms = 0;
  std::string level;
  std::string message;
  std::map<std::string, std::string> fields;
};

struct LogQuery {
  std::optional<std::int64_t> cursor_ms;
  std::size_t limit = 1000;
  bool backward = false;
  std::size_t least_level = 0;
  std::string search;
};

constexpr const char* kLevels[] = {"debug", "info", "warn", "error"};

std::size_t level_of(std::string_view name) {
  return static_cast<std::size_t>(std::find(std::begin(kLevels), std::end(kLevels), name) - std::begin(kLevels));
}

std::string words_of(const json& command) {
  if (command.contains("shell") && command["shell"].is_string()) return command["shell"].get<std::string>();
  std::string words;
  for (const auto& word : command.value("argv", json::array())) {
    if (word.is_string()) words += (words.empty() ? "" : " ") + word.get<std::string>();
  }
  return words;
}

std::string end_of(const json& exit) {
  if (exit.contains("signal") && exit["signal"].is_string()) return "was ended by " + exit["signal"].get<std::string>();
  if (exit.contains("code") && exit["code"].is_number_integer()) return "ended with " + std::to_string(exit["code"].get<int>());
  return "ended";
}

void add_entries(const json& command, std::vector<Entry>& out) {
  const auto id = command.value("id", "");
  const auto started = command.value("started_ms", std::int64_t{0});
  const auto words = words_of(command);
  out.push_back({started, "info", "command started: " + words, {{"command", id}}});
  const auto exit = command.find("exit");
  if (exit == command.end() || !exit->is_object()) return;
  const bool good = exit->value("code", json()) == 0;
  const auto ended = started + exit->value("duration_ms", std::int64_t{0});
  out.push_back({ended, good ? "info" : "warn", "command " + end_of(*exit) + ": " + words, {{"command", id}}});
}

Result<LogQuery> parse_log_query(const http::Query& query) {
  LogQuery out;
  for (const char* name : {"cursor", "start"}) {
    if (const auto text = query.get(name); text && !text->empty()) {
      HARENA_TRY(out.cursor_ms, parse_int(*text, 0, INT64_MAX, name));
    }
  }
  if (const auto text = query.get("limit"); text && !text->empty()) {
    HARENA_TRY(const auto limit, parse_int(*text, 0, 1000, "limit"));
    out.limit = static_cast<std::size_t>(limit);
  }
  const auto direction = query.get("direction").value_or("forward");
  out.backward = direction == "backward";
  if (!out.backward && direction != "forward") {
    return make_error(ErrorCode::invalid_argument, "direction is '" + std::string(direction) + "'; forward and backward are right");
  }
  const auto level = query.get("level").value_or("debug");
  out.least_level = level_of(level);
  if (out.least_level == std::size(kLevels)) {
    return make_error(ErrorCode::invalid_argument, "level is '" + std::string(level) + "'; debug, info, warn and error are right");
  }
  out.search = std::string(query.get("search").value_or(""));
  return out;
}

void select(std::vector<Entry>& entries, const LogQuery& query) {
  std::erase_if(entries, [&](const Entry& one) {
    const bool before = query.cursor_ms && (query.backward ? one.at_ms > *query.cursor_ms : one.at_ms < *query.cursor_ms);
    return before || level_of(one.level) < query.least_level || one.message.find(query.search) == std::string::npos;
  });
  std::stable_sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    return query.backward ? a.at_ms > b.at_ms : a.at_ms < b.at_ms;
  });
  if (entries.size() > query.limit) entries.resize(query.limit);
}

Task<Result<std::vector<Entry>>> entries_of(ControlCall& call) {
  HARENA_CO_TRY(const auto query, call.request.query());
  HARENA_CO_TRY(const auto wanted, parse_log_query(query));
  SandboxStore store(call.services, call.key);
  HARENA_CO_TRY(const auto record, co_await store.living(call.param("id")));
  std::vector<Entry> entries;
  entries.push_back({record.started_ms, "info", "sandbox created from template " + record.extras.template_id, {}});
  if (!record.is_paused()) {  // asking a paused one would resume it
    HARENA_CO_TRY(const auto commands, co_await store.ask("GET", "/v1/sandboxes/" + record.id + "/commands"));
    for (const auto& command : commands.value("commands", json::array())) add_entries(command, entries);
  }
  select(entries, wanted);
  co_return entries;
}

json entry_json(const Entry& entry) {
  return {{"timestamp", rfc3339(entry.at_ms)}, {"message", entry.message}, {"level", entry.level}, {"fields", entry.fields}};
}

}  // namespace

AnswerTask sandbox_logs_v1(ControlCall& call) {
  HARENA_CO_TRY(const auto entries, co_await entries_of(call));
  json lines = json::array();
  json list = json::array();
  for (const auto& entry : entries) {
    lines.push_back({{"timestamp", rfc3339(entry.at_ms)}, {"line", entry.message}});
    list.push_back(entry_json(entry));
  }
  json body = {{"logs", std::move(lines)}, {"logEntries", std::move(list)}};
  co_return Answer{200, std::move(body)};
}

AnswerTask sandbox_logs_v2(ControlCall& call) {
  HARENA_CO_TRY(const auto entries, co_await entries_of(call));
  json list = json::array();
  for (const auto& entry : entries) list.push_back(entry_json(entry));
  json body = {{"logs", std::move(list)}};
  co_return Answer{200, std::move(body)};
}

}  // namespace harena::e2b
