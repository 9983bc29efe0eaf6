#include "core/store/event_repository.hpp"

#include <algorithm>

#include "core/store/keys.hpp"
#include "core/store/pages.hpp"

namespace harena {

using nlohmann::json;

namespace {

constexpr std::int64_t kMostScanned = 10'000;
constexpr std::size_t kMostDetail = 4'096;

std::string key_of(std::int64_t time_ms, std::int64_t serial) {
  std::string digits = std::to_string(serial % 1'000'000'000);
  return keys::time_bound(keys::kEvents, time_ms) + ":" + std::string(9 - digits.size(), '0') + digits;
}

bool is_cursor(const std::string& text) {
  return text.size() == 29 && text[19] == ':' &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || c == ':'; });
}

bool matches(const EventFilter& filter, const EventRecord& event) {
  if (!filter.project.contains(event.project)) return false;
  if (!filter.sandbox_id.empty() && filter.sandbox_id != event.sandbox_id) return false;
  return filter.types.empty() || std::find(filter.types.begin(), filter.types.end(), event.type) != filter.types.end();
}

}  // namespace

json to_json(const EventRecord& event) {
  return {{"time_ms", event.time_ms},       {"type", event.type},           {"project", event.project.str()},
          {"sandbox_id", event.sandbox_id}, {"principal", event.principal}, {"detail", event.detail}};
}

Result<EventRecord> event_from_json(const json& value) {
  try {
    EventRecord event{.time_ms = value.at("time_ms").get<std::int64_t>(), .type = value.at("type").get<std::string>()};
    HARENA_TRY(event.project, ProjectPath::parse(value.at("project").get<std::string>()));
    event.sandbox_id = value.at("sandbox_id").get<std::string>();
    event.principal = value.at("principal").get<std::string>();
    event.detail = value.at("detail").get<std::string>();
    return event;
  } catch (const std::exception& problem) {
    return make_error(ErrorCode::data_loss, std::string("a stored event can't be read: ") + problem.what());
  }
}

Status EventRepository::append(const CallContext& call, const EventRecord& event) {
  EventRecord kept = event;
  if (kept.detail.size() > kMostDetail) kept.detail.resize(kMostDetail);
  std::lock_guard lock(mutex_);
  // A serial of an earlier life may be in use within the same millisecond: then the next one.
  for (int attempt = 0; attempt < 1'000; ++attempt) {
    const std::string key = key_of(event.time_ms, serial_++);
    const auto put = store_.txn(call, {StateOp::check(key, 0), StateOp::put(key, record_text(to_json(kept)))});
    if (put.ok()) return trim(call);
    if (put.error().code != ErrorCode::aborted) return put.error();
  }
  return make_error(ErrorCode::aborted, "a thousand events of one millisecond are in the store");
}

/// A part at a time: an append never pays for more.
Status EventRepository::trim(const CallContext& call) {
  if (count_ >= 0) {
    ++count_;
  } else {
    count_ = 0;
    HARENA_TRY_STATUS(for_each_entry(store_, call, keys::kEvents, "", [this](const StateEntry&) -> Result<bool> { return ++count_ > 0; }));
  }
  if (count_ <= most_) return ok_status();
  const std::int64_t surplus = std::min<std::int64_t>(count_ - most_, kPageEntries);
  HARENA_TRY(const auto oldest, store_.range(call, std::string(keys::kEvents), keys::after_prefix(keys::kEvents), surplus));
  std::vector<StateOp> ops;
  for (const auto& entry : oldest) ops.push_back(StateOp::remove(entry.key));
  HARENA_TRY([[maybe_unused]] const auto revision, store_.txn(call, ops));
  count_ -= static_cast<std::int64_t>(ops.size());
  return ok_status();
}

Result<EventPage> EventRepository::list(const CallContext& call, const EventFilter& filter, const std::string& cursor, std::int64_t limit) {
  if (!cursor.empty() && !is_cursor(cursor)) {
    return make_error(ErrorCode::invalid_argument, "cursor is '" + cursor.substr(0, 80) + "'; a next_cursor of an earlier answer is right");
  }
  EventPage page;
  std::string last;
  std::int64_t scanned = 0;
  const std::string start = cursor.empty() ? "" : keys::successor(std::string(keys::kEvents) + cursor);
  HARENA_TRY_STATUS(for_each_entry(store_, call, keys::kEvents, start, [&](const StateEntry& entry) -> Result<bool> {
    if (static_cast<std::int64_t>(page.events.size()) == limit || scanned++ == kMostScanned) {
      page.next_cursor = last.substr(keys::kEvents.size());
      return false;
    }
    last = entry.key;
    HARENA_TRY(const auto value, parse_record(entry));
    HARENA_TRY(auto event, event_from_json(value));
    if (matches(filter, event)) page.events.push_back(std::move(event));
    return true;
  }));
  return page;
}

}  // namespace harena
