// Level 2, harena.state-store/1: watches.

#include <atomic>
#include <thread>

#include "sdk/conformance/backend_kit.hpp"
#include "sdk/conformance/state_kit.hpp"

namespace harena::conformance {
namespace {

constexpr auto kNoticed = std::chrono::milliseconds(250);  // sdk/abi/state_store.h
constexpr auto kSlack = std::chrono::milliseconds(1000);   // of a loaded machine

CallOptions collecting(std::vector<StateItem>& items, std::size_t count) {
  CallOptions options;
  options.deadline_ns = monotonic_ns() + 20'000'000'000;
  options.on_item = [&items, count](const loader::Item& item) {
    items.push_back({std::string(item.key), std::string(item.value), item.revision, item.deleted});
    return items.size() < count;
  };
  return options;
}

// `count` items, after which the watch is told to stop.
std::vector<StateItem> watched(Context& c, StateStoreRun& run, std::string_view prefix, std::int64_t after, std::size_t count) {
  std::vector<StateItem> items;
  Status ended = run->watch(prefix, after, collecting(items, count));
  c.require(!ended.ok(), "watch returned ok; it ends only with its call");
  c.require(ended.error().code == ErrorCode::cancelled, "a watch that was told to stop ended with " + ended.error().describe());
  c.require(items.size() == count, "a watch went on after it was told to stop");
  return items;
}

void watch_sees_every_change(Context& c) {
  StateStoreRun run(c);
  run.put("a/1", "x");
  run.put("b/1", "other");
  c.need(run->txn({put_value("a/2", ""), delete_key("a/1"), put_value("b/2", "other")}), "txn");
  run.put("a/2", "y");
  auto items = watched(c, run, "a/", 0, 4);
  c.require(items[0] == StateItem{"a/1", "x", 1, false}, "the first change is wrong");
  c.require(items[1].revision == 3 && items[2].revision == 3, "changes of one transaction have different revisions");
  StateItem deletion = items[1].deleted ? items[1] : items[2], addition = items[1].deleted ? items[2] : items[1];
  c.require(deletion == StateItem{"a/1", "", 3, true}, "a deletion isn't told as one");
  c.require(addition == StateItem{"a/2", "", 3, false}, "an empty value isn't told as one");
  c.require(items[3] == StateItem{"a/2", "y", 4, false}, "the last change is wrong");
}

void watch_goes_on_from_a_range(Context& c) {
  StateStoreRun run(c);
  run.put("a", "1");
  auto read = c.need(run->range("", "", 10), "range");
  run.put("a", "2");
  auto items = watched(c, run, "", read.revision, 1);
  c.require(items[0].value == "2", "a watch from a range's revision repeats or skips changes");
}

void watch_wakes_up(Context& c) {
  StateStoreRun run(c);
  std::vector<StateItem> items;
  std::atomic<bool> asked = false;
  CallOptions options = collecting(items, 1);
  options.cancelled = [&] { return asked = true, asked.notify_all(), false; };
  std::thread watcher([&] { (void)run->watch("", 0, std::move(options)); });
  asked.wait(false);  // the watch is on its way
  run.put("a", "new");
  watcher.join();
  c.require(items.size() == 1 && items[0].value == "new", "a watch doesn't see what comes later");
}

void watch_ends(Context& c) {
  StateStoreRun run(c);
  std::int64_t cancel_at = monotonic_ns() + 50'000'000;
  auto cancelled = run->watch("", 0, {.cancelled = [=] { return monotonic_ns() >= cancel_at; }, .on_item = [](auto&) { return true; }});
  std::int64_t took = monotonic_ns() - cancel_at;
  c.require(!cancelled.ok() && cancelled.error().code == ErrorCode::cancelled, "a cancelled watch doesn't end as cancelled");
  c.require(took < std::chrono::nanoseconds(kNoticed + kSlack).count(), "a watch noticed its cancellation after " + std::to_string(took / 1'000'000) + " ms; 250 is right");
  auto late = run->watch("", 0, {.deadline_ns = monotonic_ns() + 50'000'000, .on_item = [](auto&) { return true; }});
  c.require(!late.ok() && late.error().code == ErrorCode::deadline_exceeded, "a watch past its deadline doesn't end as deadline_exceeded");
}

void watch_out_of_range(Context& c) {
  StateStoreRun run(c);
  auto now = run.put("a", "1");
  auto ended = run->watch("", now + 5, {.deadline_ns = monotonic_ns() + 1'000'000'000, .on_item = [](auto&) { return true; }});
  c.require(!ended.ok() && ended.error().code == ErrorCode::out_of_range, "a watch after a revision that the store hasn't reached isn't out_of_range");
  auto negative = run->watch("", -1, {.deadline_ns = monotonic_ns() + 1'000'000'000, .on_item = [](auto&) { return true; }});
  c.require(!negative.ok() && negative.error().code == ErrorCode::invalid_argument, "a watch after revision -1 isn't invalid_argument");
}

void watches_in_parallel(Context& c) {
  StateStoreRun run(c);
  constexpr std::size_t kWatches = 32, kChanges = 20;
  std::vector<std::vector<StateItem>> seen(kWatches);
  std::vector<std::thread> threads;
  for (auto& items : seen) threads.emplace_back([&] { (void)run->watch("", 0, collecting(items, kChanges)); });
  for (std::size_t i = 0; i < kChanges; ++i) run.put("k", std::to_string(i));
  for (auto& thread : threads) thread.join();
  for (const auto& items : seen) {
    c.require(items.size() == kChanges, "a watch saw " + std::to_string(items.size()) + " of 20 changes");
    for (std::size_t i = 0; i < kChanges; ++i) c.require(items[i].value == std::to_string(i), "a watch saw changes out of order");
  }
}

}  // namespace

std::vector<Case> state_store_watch_cases() {
  return {
      {"watch_sees_every_change", 2, kStateStoreContract, "every change below a prefix, in order, deletions as such", watch_sees_every_change},
      {"watch_goes_on_from_a_range", 2, kStateStoreContract, "a watch from a range's revision repeats and skips nothing", watch_goes_on_from_a_range},
      {"watch_wakes_up", 2, kStateStoreContract, "a watch sees what comes later", watch_wakes_up},
      {"watch_ends", 2, kStateStoreContract, "a watch ends soon after it is cancelled or late", watch_ends},
      {"watch_out_of_range", 2, kStateStoreContract, "revisions that the store doesn't have are out_of_range", watch_out_of_range},
      {"watches_in_parallel", 2, kStateStoreContract, "32 watches see all changes in order while they are made", watches_in_parallel},
  };
}

}  // namespace harena::conformance
