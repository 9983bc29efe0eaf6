// Level 2, harena.backend/1: kill -9 of the host between any two steps, and in the middle of each; then another host.
// Hosts are children of the case, which itself makes no instance: it may fork.

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "sdk/conformance/backend_kit.hpp"
#include "sdk/conformance/leftovers.hpp"
#include "sdk/conformance/runner.hpp"

namespace harena::conformance {
namespace {

// Steps of a host's life, and what the next host must find after each. Between create and store the core does not know the
// state yet: it will not recover such a sandbox, only stop it.
struct Step {
  const char* name;
  const char* then;
};
constexpr Step kSteps[] = {{"start", "gone"},    {"create", ""}, {"store", "running"}, {"pause", "paused"},
                           {"resume", "running"}, {"usage", "running"}, {"stop", "gone"}};

std::filesystem::path state_file(const Context& c, const std::string& id) { return c.tmp() / ("blob-" + id); }

std::string stored_state(const Context& c, const std::string& id) {
  std::ifstream file(state_file(c, id));
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

// One step. False: the backend lacks the verb.
bool take(Context& c, BackendRun& run, const std::string& step, const std::string& id, json& made) {
  if (step == "create") made = c.need(run->create(c.request(id)), "create");
  if (step == "store") std::ofstream(state_file(c, id)) << made.value("state", "");
  if (step == "pause" || step == "resume") {
    if (!run.has_verb(step)) return false;
    c.need(step == "pause" ? run->pause(id) : run->resume(id), step);
  }
  if (step == "usage") c.need(run->usage(id), "usage");
  if (step == "stop") c.need(run->stop(id), "stop");
  return true;
}

// A host that dies right after `last`.
json live_until(Context& c, const std::string& id, const std::string& last) {
  BackendRun run(c);
  json made;
  for (const auto& step : kSteps) {
    bool there = take(c, run, step.name, id, made);
    if (step.name != last) continue;
    if (!there) return "lacks " + last;
    ::raise(SIGKILL);
  }
  return nullptr;
}

// The next host: what it finds, and that it can clear up. `expected` empty: anything.
json come_back(Context& c, const std::string& id, const std::string& expected, const std::string& when) {
  BackendRun run(c);
  json found = c.need(run->recover(id, stored_state(c, id)), "recover " + when);
  if (!expected.empty()) c.require(found.value("status", "") == expected, "recover " + when + " says " + found.dump() + "; " + expected + " is right");
  c.need(run->sweep({id}), "sweep " + when);
  c.need(run->stop(id), "stop " + when);
  run.need_gone(id, "stop " + when);
  json removed = c.need(run->sweep(json::array()), "sweep of all " + when).value("removed", json());
  c.require(removed == json::array(), "sweep " + when + " and stop still finds " + removed.dump());
  return nullptr;
}

void next_host(Context& c, const std::string& id, const std::string& expected, const std::string& when) {
  Child host([&] { return come_back(c, id, expected, when); });
  auto end = host.wait();
  if (end.signal != 0) c.fail("the next host was ended by signal " + std::to_string(end.signal) + " " + when);
  c.require(end.failure.empty(), end.failure);
}

void need_nothing_left(Context& c, const Leftovers& leftovers, const std::string& when) {
  for (const auto& one : leftovers.find_settled()) c.fail("left behind " + when + ": " + one);
}

// Skips the case where the backend can't be used, in a process of its own.
void need_usable(Context& c) {
  Child child([&]() -> json {
    auto instance = c.instance();
    return c.need(c.need(BackendDriver::of(*instance), "its functions").probe(), "probe");
  });
  auto end = child.wait();
  c.require(end.failure.empty() && end.signal == 0, "probe: " + end.failure);
  if (!end.value.value("usable", false)) c.skip("the backend says that this host isn't usable: " + end.value.value("why_not", json::array()).dump());
}

void kill_between_steps(Context& c) {
  need_usable(c);
  for (const auto& step : kSteps) {
    std::string id = c.new_id(), when = std::string("after a host that was killed after ") + step.name;
    Leftovers leftovers({id});
    Child host([&] { return live_until(c, id, step.name); });
    auto end = host.wait();
    c.require(end.failure.empty(), end.failure);
    if (!end.killed && end.value.is_string()) continue;  // a verb that it lacks
    c.require(end.killed, "the host ended by itself at " + std::string(step.name));
    next_host(c, id, step.then, when);
    need_nothing_left(c, leftovers, when);
  }
}

// A host that tells that it is about to take `last`, and is then killed at some moment in it.
void kill_within(Context& c, const std::string& last, std::chrono::microseconds delay) {
  std::string id = c.new_id(), when = "after a host that was killed within " + last;
  Leftovers leftovers({id});
  auto about_to = c.tmp() / ("about-" + id);
  Child host([&]() -> json {
    BackendRun run(c);
    json made;
    for (const auto& step : kSteps) {
      if (step.name == last) std::ofstream(about_to) << "x";
      take(c, run, step.name, id, made);
      if (step.name == last) break;
    }
    for (;;) ::pause();
  });
  host.wait_for(about_to);
  std::this_thread::sleep_for(delay);  // the moment is what is tried
  host.kill_hard();
  host.wait();
  next_host(c, id, "", when);
  need_nothing_left(c, leftovers, when);
}

void kill_within_create(Context& c) {
  need_usable(c);
  for (int us : {0, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000}) kill_within(c, "create", std::chrono::microseconds(us));
}

void kill_within_stop(Context& c) {
  need_usable(c);
  for (int us : {0, 200, 500, 1000, 2000, 5000, 20000}) kill_within(c, "stop", std::chrono::microseconds(us));
}

}  // namespace

std::vector<Case> backend_crash_cases() {
  return {
      {"kill_between_steps", 2, kBackendContract, "kill -9 of the host between any two steps: the next host finds and can stop the sandbox", kill_between_steps, 180},
      {"kill_within_create", 2, kBackendContract, "kill -9 of the host within create: stop and sweep remove what was half-made", kill_within_create, 300},
      {"kill_within_stop", 2, kBackendContract, "kill -9 of the host within stop: stop again ends it", kill_within_stop, 300},
  };
}

}  // namespace harena::conformance
