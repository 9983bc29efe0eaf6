// Level 2, harena.backend/1: what holds for every call: one outcome, no exception, cancellation, deadlines, threads,
// the order of events, nothing left behind.

#include <sched.h>

#include <atomic>
#include <thread>

#include "sdk/conformance/backend_kit.hpp"
#include "sdk/conformance/leftovers.hpp"

namespace harena::conformance {
namespace {

constexpr int kParallel = 32;

// Calls that succeed and calls that fail, of every kind that needs no sandbox.
template <class Use>
void many_outcomes(Context& c, Use use) {
  auto instance = c.instance();
  auto d = c.need(BackendDriver::of(*instance), "its functions");
  std::string id = c.new_id();
  use("describe", [&] { return d.describe(); });
  use("probe", [&] { return d.probe(); });
  use("usage of an unknown id", [&] { return d.usage(id); });
  use("stop of an unknown id", [&] { return d.stop(id); });
  use("recover of an unknown id", [&] { return d.recover(id, "nonsense"); });
  use("create with a request that isn't JSON", [&] { return invoke(d.table.create, d.self, {}, abi("{nonsense")); });
  use("create with an empty request", [&] { return invoke(d.table.create, d.self, {}, abi("{}")); });
  use("sweep with a list that isn't JSON", [&] { return invoke(d.table.sweep, d.self, {}, abi("[nonsense")); });
}

void one_outcome_a_call(Context& c) {
  many_outcomes(c, [&](const char* what, auto call) {
    auto outcome = call();
    if (outcome.ok()) return;
    c.require(outcome.error().message.find("broke its contract") == std::string::npos, std::string(what) + ": " + outcome.error().message);
    c.require(!outcome.error().message.empty(), std::string(what) + " failed without a message");
  });
}

void no_exceptions(Context& c) {
  many_outcomes(c, [&](const char* what, auto call) {
    try {
      (void)call();
    } catch (...) {
      c.fail(std::string(what) + " let an exception out of the plugin");
    }
  });
}

void bad_requests(Context& c) {
  auto instance = c.instance();
  auto d = c.need(BackendDriver::of(*instance), "its functions");
  c.require(!invoke(d.table.create, d.self, {}, abi("{nonsense")).ok(), "create with a request that isn't JSON succeeded");
  c.require(!invoke(d.table.create, d.self, {}, abi("{}")).ok(), "create without a sandbox_id succeeded");
}

// Runs `call` on a thread; the case fails when it isn't back `kEndGrace` after `end` (a time of the monotonic clock).
template <class Call>
Result<json> back_in_time(Context& c, const std::string& what, std::int64_t end_ns, Call call) {
  std::atomic<bool> back = false;
  Result<json> outcome = json();
  std::thread worker([&] { outcome = call(), back = true, back.notify_all(); });
  std::int64_t limit = end_ns + std::chrono::nanoseconds(kEndGrace).count();
  while (!back && monotonic_ns() < limit) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  if (!back) {
    worker.detach();  // it hangs; this process ends with the case
    c.fail(what + " isn't back " + std::to_string(kEndGrace.count()) + " s later");
  }
  worker.join();
  return outcome;
}

void cancelled_before(Context& c) {
  BackendRun run(c);
  std::string id = c.new_id();
  c.need_error(run->create(c.request(id), {.cancelled = [] { return true; }}), ErrorCode::cancelled, "a create that was cancelled before it began");
  run.need_gone(id, "a cancelled create");
}

void cancelled_midway(Context& c) {
  BackendRun run(c);
  for (int delay_ms : {0, 1, 5, 20, 100}) {
    std::string id = c.new_id();
    std::int64_t when = monotonic_ns() + std::int64_t{delay_ms} * 1'000'000;
    auto made = back_in_time(c, "a create that was cancelled after " + std::to_string(delay_ms) + " ms", when,
                             [&] { return run->create(c.request(id), {.cancelled = [when] { return monotonic_ns() >= when; }}); });
    if (!made.ok()) c.require(made.error().code == ErrorCode::cancelled, "a cancelled create failed with " + made.error().describe());
    if (!made.ok()) run.need_gone(id, "a cancelled create");
    run.stop(id);
  }
}

void deadline_past(Context& c) {
  BackendRun run(c);
  std::string id = c.new_id();
  c.need_error(run->create(c.request(id), {.deadline_ns = 1}), ErrorCode::deadline_exceeded, "a create whose deadline had passed");
  run.need_gone(id, "a create past its deadline");
}

void deadline_midway(Context& c) {
  BackendRun run(c);
  for (int delay_ms : {1, 5, 20, 100}) {
    std::string id = c.new_id();
    std::int64_t when = monotonic_ns() + std::int64_t{delay_ms} * 1'000'000;
    auto made = back_in_time(c, "a create with a deadline in " + std::to_string(delay_ms) + " ms", when,
                             [&] { return run->create(c.request(id), {.deadline_ns = when}); });
    if (!made.ok()) c.require(made.error().code == ErrorCode::deadline_exceeded, "a create past its deadline failed with " + made.error().describe());
    if (!made.ok()) run.need_gone(id, "a create past its deadline");
    run.stop(id);
  }
}

void parallel_32(Context& c) {
  BackendRun run(c);
  std::vector<std::string> ids, failures(kParallel);
  for (int i = 0; i < kParallel; ++i) ids.push_back(c.new_id());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kParallel; ++i) {
    threads.emplace_back([&, i, request = c.request(ids[i])] {
      auto made = run->create(request);
      auto used = made.ok() ? run->usage(ids[i]) : std::move(made);
      auto probed = used.ok() ? run->probe() : std::move(used);
      auto stopped = run->stop(ids[i]);
      if (!probed.ok()) failures[i] = probed.error().describe();
      else if (!stopped.ok()) failures[i] = stopped.error().describe();
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& failure : failures) c.require(failure.empty(), std::to_string(kParallel) + " in parallel: " + failure);
  for (const auto& id : ids) run.need_gone(id, "stop");
}

void event_order(Context& c) {
  BackendRun run(c);
  std::string id = run.create();
  run.stop(id);
  auto count = c.host().events().size();
  run.restart();  // whatever was on its way has been sent
  int exits = 0;
  for (const auto& event : c.host().events()) {
    c.require(event.is_object() && event.contains("type"), "an event isn't an object with a \"type\": " + event.dump());
    if (event["type"] != "sandbox_exited") continue;
    c.require(event.value("sandbox_id", "") == id, "an exit of a sandbox that wasn't made: " + event.dump());
    c.require(++exits == 1, "more than one sandbox_exited of one sandbox");
  }
  c.require(c.host().events().size() == count, "an event of a sandbox came after its stop had returned");
}

void nothing_left_behind(Context& c) {
  bool own_network = ::unshare(CLONE_NEWNET) == 0;
  BackendRun run(c);
  // A helper that an instance starts at its first create is the instance's, not a sandbox's.
  run.stop(run.create());
  Leftovers leftovers({c.tmp().string()});
  for (int i = 0; i < 3; ++i) {
    std::string id = run.create();
    leftovers.add_trace(id);
    if (run.has_verb("pause") && i == 1) c.need(run->pause(id), "pause");
  }
  run.stop_all();
  auto found = leftovers.find_settled();
  std::string list;
  for (const auto& one : found) list += (list.empty() ? "" : "; ") + one;
  c.require(found.empty(), "left behind after stop: " + list);
  if (!own_network) c.warn("not looked for: network interfaces (a network namespace of its own needs root)");
}

}  // namespace

std::vector<Case> backend_call_cases() {
  return {
      {"one_outcome_a_call", 2, kBackendContract, "a failure makes one error and no more, a success at most one result", one_outcome_a_call},
      {"no_exceptions", 2, kBackendContract, "no exception crosses the boundary", no_exceptions},
      {"bad_requests", 2, kBackendContract, "requests that aren't JSON or lack the id are errors", bad_requests},
      {"cancelled_before", 2, kBackendContract, "a call that was cancelled before it began is cancelled and leaves nothing", cancelled_before},
      {"cancelled_midway", 2, kBackendContract, "a create that is cancelled comes back soon and leaves nothing", cancelled_midway, 120},
      {"deadline_past", 2, kBackendContract, "a call past its deadline is deadline_exceeded and leaves nothing", deadline_past},
      {"deadline_midway", 2, kBackendContract, "a create whose deadline passes comes back soon and leaves nothing", deadline_midway, 120},
      {"parallel_32", 2, kBackendContract, "32 sandboxes at once are made, measured and stopped", parallel_32, 180},
      {"event_order", 2, kBackendContract, "at most one exit of a sandbox, none after stop has returned", event_order},
      {"nothing_left_behind", 2, kBackendContract, "no process, mount, cgroup, loop device, socket or interface outlives stop", nothing_left_behind, 120},
  };
}

}  // namespace harena::conformance
