#pragma once
// EventRepository: the trail of what must be found again later: sandboxes that were made weaker, limits that were reached.
//
// Append-only and bounded: over kMostEvents the oldest go. The order is that of the wall clock, then of arrival.

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/contracts/state_store.hpp"
#include "core/model/project.hpp"

namespace harena {

struct EventRecord {
  std::int64_t time_ms = 0;
  std::string type;  ///< kEventTypes
  ProjectPath project = ProjectPath::root();
  std::string sandbox_id;
  std::string principal;  ///< whose call it was; empty: nobody's
  std::string detail;     ///< a sentence, or the name of a limit
};

/// sandbox_weakened: an option that weakens a sandbox was used, by the operator's allowance. limit_reached: a sandbox ended by a limit.
inline const std::vector<std::string> kEventTypes = {"limit_reached", "sandbox_weakened"};

/// For the store and, as it is, for the API.
nlohmann::json to_json(const EventRecord& event);
/// data_loss for what to_json can't have written.
Result<EventRecord> event_from_json(const nlohmann::json& value);

/// Empty members don't filter.
struct EventFilter {
  ProjectPath project = ProjectPath::root();  ///< it and everything below it
  std::vector<std::string> types;
  std::string sandbox_id;
};

struct EventPage {
  std::vector<EventRecord> events;  ///< oldest first
  std::string next_cursor;          ///< empty: the end
};

/// Thread-safe, blocking.
class EventRepository {
 public:
  /// `store` must outlive this. `most` is what is kept.
  explicit EventRepository(StateStore& store, std::int64_t most = kMostEvents) : store_(store), most_(most) {}

  /// On return it is in the store.
  Status append(const CallContext& call, const EventRecord& event);
  /// Those after `cursor` (empty: from the oldest; else a next_cursor) that match; limit is 1 to 1,000. A page may be short and not be
  /// the last. invalid_argument for a cursor that isn't one.
  Result<EventPage> list(const CallContext& call, const EventFilter& filter, const std::string& cursor, std::int64_t limit);

  static constexpr std::int64_t kMostEvents = 100'000;

 private:
  Status trim(const CallContext& call);

  StateStore& store_;
  const std::int64_t most_;
  std::mutex mutex_;
  std::int64_t serial_ = 0;
  std::int64_t count_ = -1;  // -1: not counted yet
};

}  // namespace harena
