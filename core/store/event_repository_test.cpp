#include "core/store/event_repository.hpp"

#include <gtest/gtest.h>

#include "core/store/testing/memory_state_store.hpp"

namespace harena {
namespace {

EventRecord event(std::int64_t time_ms, const std::string& detail, const std::string& project = "root",
                  const std::string& type = "sandbox_weakened") {
  return {.time_ms = time_ms,
          .type = type,
          .project = *ProjectPath::parse(project),
          .sandbox_id = "edge1aaaaaaaaaaaaaaa",
          .detail = detail};
}

std::vector<std::string> details(const EventPage& page) {
  std::vector<std::string> found;
  for (const auto& one : page.events) found.push_back(one.detail);
  return found;
}
using Words = std::vector<std::string>;

TEST(Events, InTheOrderOfTimeAndArrival) {
  MemoryStateStore store;
  EventRepository events(store);
  for (const auto& [time, detail] : {std::pair(20, "c"), std::pair(10, "a"), std::pair(10, "b")}) {
    ASSERT_TRUE(events.append({}, event(time, detail)).ok());
  }
  EXPECT_EQ(details(*events.list({}, {}, "", 10)), (Words{"a", "b", "c"}));
}

TEST(Events, AnotherLifeInTheSameMillisecondLosesNone) {
  MemoryStateStore store;
  ASSERT_TRUE(EventRepository(store).append({}, event(10, "first")).ok());
  ASSERT_TRUE(EventRepository(store).append({}, event(10, "second")).ok());
  EXPECT_EQ(details(*EventRepository(store).list({}, {}, "", 10)), (Words{"first", "second"}));
}

TEST(Events, PagesAndFilters) {
  MemoryStateStore store;
  EventRepository events(store);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(events.append({}, event(i, std::to_string(i), i % 2 == 0 ? "root/a/b" : "root/ab")).ok());
  ASSERT_TRUE(events.append({}, event(9, "oom", "root/a", "limit_reached")).ok());
  auto first = *events.list({}, {}, "", 4);
  EXPECT_EQ(details(first), (Words{"0", "1", "2", "3"}));
  auto second = *events.list({}, {}, first.next_cursor, 4);
  EXPECT_EQ(details(second), (Words{"4", "oom"}));
  EXPECT_EQ(second.next_cursor, "");
  EXPECT_EQ(details(*events.list({}, {.project = *ProjectPath::parse("root/a")}, "", 10)), (Words{"0", "2", "4", "oom"}));
  EXPECT_EQ(details(*events.list({}, {.types = {"limit_reached"}}, "", 10)), (Words{"oom"}));
  EXPECT_TRUE(events.list({}, {.sandbox_id = "other"}, "", 10)->events.empty());
  EXPECT_EQ(events.list({}, {}, "/v1/tokens/", 10).error().code, ErrorCode::invalid_argument);
}

TEST(Events, TheOldestGo) {
  MemoryStateStore store;
  {
    EventRepository events(store, 3);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(events.append({}, event(i, std::to_string(i))).ok());
  }
  EventRepository events(store, 3);
  for (int i = 3; i < 5; ++i) ASSERT_TRUE(events.append({}, event(i, std::to_string(i))).ok());
  EXPECT_EQ(details(*events.list({}, {}, "", 10)), (Words{"2", "3", "4"}));
}

}  // namespace
}  // namespace harena
