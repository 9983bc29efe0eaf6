// Level 2, harena.state-store/1: values, ranges, transactions, durability.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "sdk/conformance/state_kit.hpp"
#include "sdk/conformance/runner.hpp"

namespace harena::conformance {
namespace {

constexpr int kThreads = 8, kIncrements = 50;

void get_and_put(Context& c) {
  StateStoreRun run(c);
  c.require(!c.need(run->get("a"), "get").has_value(), "an absent key has a value");
  auto first = run.put("a", "1");
  auto item = c.need(run->get("a"), "get");
  c.require(item.has_value() && *item == StateItem{"a", "1", first, false}, "get gives another item than was put");
  c.require(run.put("a", "2") > first, "the revision doesn't grow");
  c.require(run.value_of("a") == "2", "get gives the old value");
}

void any_bytes(Context& c) {
  StateStoreRun run(c);
  std::string key("k\0\xff\n", 4), value("\0\0v\xfe", 4);
  run.put(key, value);
  run.put("empty", "");
  c.require(run.value_of(key) == value, "bytes of a key or value were changed");
  auto empty = c.need(run->get("empty"), "get");
  c.require(empty.has_value() && empty->value.empty() && !empty->deleted, "an empty value isn't an empty value");
}

void compare_and_set(Context& c) {
  StateStoreRun run(c);
  c.need(run->txn({check_revision("a", 0), put_value("a", "1")}), "put of an absent key");
  auto revision = c.need(run->get("a"), "get")->revision;
  auto error = c.need_error(run->txn({check_revision("a", 0), put_value("a", "2")}), ErrorCode::aborted, "a check that fails");
  c.require(error.message.find('a') != std::string::npos, "the error of a failed check doesn't name the key: " + error.message);
  c.need_error(run->txn({check_revision("a", revision + 1), put_value("a", "2")}), ErrorCode::aborted, "a check of another revision");
  c.require(run.value_of("a") == "1", "a transaction whose check failed changed something");
  c.need(run->txn({check_revision("a", revision), delete_key("a")}), "delete with the right revision");
  c.need(run->txn({check_revision("a", 0)}), "a check that a deleted key is absent");
}

void all_or_nothing(Context& c) {
  StateStoreRun run(c);
  run.put("a", "1");
  c.need_error(run->txn({put_value("b", "x"), delete_key("a"), check_revision("c", 99)}), ErrorCode::aborted, "a check that fails");
  c.require(run.value_of("a") == "1" && run.value_of("b") == "(absent)", "half of a failed transaction was stored");
  auto revision = c.need(run->txn({put_value("x", "1"), put_value("y", "2"), delete_key("a"), check_revision("b", 0)}), "txn");
  c.require(c.need(run->get("x"), "get")->revision == revision && c.need(run->get("y"), "get")->revision == revision,
            "keys that one transaction changed have different revisions");
}

void revisions(Context& c) {
  StateStoreRun run(c);
  auto first = run.put("a", "1");
  c.require(c.need(run->txn({check_revision("a", first)}), "a transaction of checks") == first, "a transaction that changes nothing has a new revision");
  c.require(c.need(run->txn({delete_key("nothing")}), "delete of an absent key") == first, "deleting an absent key made a revision");
  c.require(run.put("a", "1") == first + 1, "a put isn't the next revision");
  run.restart();
  c.require(run.put("b", "1") == first + 2, "after a restart the revision doesn't go on");
}

void ranges(Context& c) {
  StateStoreRun run(c);
  std::vector<std::string> keys = {"b", "a", "ab", "\xff", "B", std::string("a\0z", 3), "a/b", "a0"};
  for (const auto& key : keys) run.put(key, key);
  std::ranges::sort(keys, [](const auto& x, const auto& y) { return x.compare(y) < 0; });
  auto read = c.need(run->range("", "", 100), "range");
  std::vector<std::string> found;
  for (const auto& item : read.items) found.push_back(item.key);
  c.require(found == keys, "a range isn't in the order of bytes");
  c.require(read.revision == 8, "a range's revision is " + std::to_string(read.revision) + "; 8 is right");
  auto part = c.need(run->range("a", "ab", 100), "range").items;
  c.require(part.size() == 4 && part.front().key == "a" && part.back().key == "a0", "a range from 'a' to 'ab' is wrong");
  c.require(c.need(run->range("a", "ab", 2), "range").items.size() == 2, "a range is longer than its limit");
  c.require(c.need(run->range("x", "b", 2), "range").items.empty(), "a range whose end is before its start isn't empty");
}

void limits(Context& c) {
  StateStoreRun run(c);
  std::string key(HARENA_STATE_MAX_KEY_BYTES, 'k'), value(HARENA_STATE_MAX_VALUE_BYTES, 'v');
  run.put(key, value);
  c.require(run.value_of(key) == value, "the largest key and value aren't kept");
  auto refuse = [&](const char* what, const std::vector<StateChange>& changes) { c.need_error(run->txn(changes), ErrorCode::invalid_argument, what); };
  refuse("an empty key", {put_value("", "x")});
  refuse("a key of 1025 bytes", {put_value(key + "k", "x")});
  refuse("a value above 1 MiB", {put_value("k", value + "v")});
  refuse("a transaction without operations", {});
  refuse("a key that is changed twice", {put_value("k", "1"), delete_key("k")});
  refuse("a transaction of 129 operations", std::vector<StateChange>(129, check_revision("k", 0)));
  refuse("an operation of kind 9", {StateChange{9, "k", "", 0}});
  c.need(run->txn(std::vector<StateChange>(128, check_revision("k", 0))), "a transaction of 128 operations");
  c.need_error(run->get(""), ErrorCode::invalid_argument, "get of an empty key");
  c.need_error(run->range("", "", 0), ErrorCode::invalid_argument, "range with limit 0");
  c.need_error(run->range("", "", 10'001), ErrorCode::invalid_argument, "range with limit 10001");
}

void parallel_increments(Context& c) {
  StateStoreRun run(c);
  run.put("n", "0");
  std::vector<std::string> failures(kThreads);
  auto increment = [&](std::size_t me) {
    for (int done = 0; done < kIncrements && failures[me].empty();) {
      auto item = run->get("n");
      if (!item.ok() || !item->has_value()) { failures[me] = "get failed"; return; }
      auto written = run->txn({check_revision("n", (*item)->revision), put_value("n", std::to_string(std::stoi((*item)->value) + 1))});
      if (written.ok()) ++done;
      else if (written.error().code != ErrorCode::aborted) failures[me] = written.error().describe();
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back(increment, i);
  for (auto& thread : threads) thread.join();
  for (const auto& failure : failures) c.require(failure.empty(), "incrementing in 8 threads: " + failure);
  c.require(run.value_of("n") == std::to_string(kThreads * kIncrements), "8 threads incremented to " + run.value_of("n") + "; 400 is right: updates were lost");
}

void values_outlive_the_host(Context& c) {
  StateStoreRun run(c);
  auto revision = run.put("a", "1");
  run.restart();
  auto item = c.need(run->get("a"), "get");
  c.require(item.has_value() && item->value == "1" && item->revision == revision, "a value isn't there after a restart");
}

// Puts pairs that must stay equal, and tells each number that was acknowledged.
[[noreturn]] void write_until_killed(Context& c, int out) {
  StateStoreRun run(c);
  auto write = [&](int writer) {
    std::string name = std::to_string(writer);
    for (int i = 1;; ++i) {
      std::string value = std::to_string(i);
      if (!run->txn({put_value("left/" + name, value), put_value("right/" + name, value)}).ok()) ::_exit(2);
      int message[2] = {writer, i};
      if (::write(out, message, sizeof(message)) != sizeof(message)) ::_exit(3);
    }
  };
  std::thread other(write, 1);
  write(0);
  ::_exit(4);
}

void kill_within_txn(Context& c) {
  for (int count : {1, 10, 50, 100, 200}) {
    int ends[2];
    c.require(::pipe(ends) == 0, "making a pipe");
    Child host([&]() -> json { write_until_killed(c, ends[1]); });
    ::close(ends[1]);
    UniqueFd in(ends[0]);
    int message[2], acknowledged[2] = {0, 0};
    for (int i = 0; ::read(in.get(), message, sizeof(message)) == sizeof(message); ++i) {
      acknowledged[message[0]] = message[1];
      if (i == count) host.kill_hard();
    }
    c.require(host.wait().killed, "the host ended by itself");
    Child next([&]() -> json {
      StateStoreRun run(c);
      for (int writer : {0, 1}) {
        std::string left = run.value_of("left/" + std::to_string(writer)), right = run.value_of("right/" + std::to_string(writer));
        c.require(left == right, "half of a transaction is there after a kill: " + left + " and " + right);
        c.require(acknowledged[writer] == 0 || (left != "(absent)" && std::stoi(left) >= acknowledged[writer]),
                  "after a kill the value is " + left + ", " + std::to_string(acknowledged[writer]) + " was acknowledged");
      }
      return nullptr;
    });
    auto end = next.wait();
    c.require(end.failure.empty() && end.signal == 0, end.failure);
  }
}

void cancelled_and_late(Context& c) {
  StateStoreRun run(c);
  c.need_error(run->txn({put_value("a", "1")}, {.cancelled = [] { return true; }}), ErrorCode::cancelled, "a cancelled transaction");
  c.need_error(run->txn({put_value("a", "1")}, {.deadline_ns = 1}), ErrorCode::deadline_exceeded, "a late transaction");
  c.require(run.value_of("a") == "(absent)", "a transaction that was cancelled or late was stored");
}

}  // namespace

std::string StateStoreRun::value_of(std::string_view key) {
  auto item = c_.need(driver_->get(key), "get");
  return item ? item->value : "(absent)";
}

std::vector<Case> state_store_cases() {
  return {
      {"get_and_put", 2, kStateStoreContract, "get gives what was put, with its revision", get_and_put},
      {"any_bytes", 2, kStateStoreContract, "keys and values are any bytes, also none and zeros", any_bytes},
      {"compare_and_set", 2, kStateStoreContract, "a check that fails is aborted, names the key, and changes nothing", compare_and_set},
      {"all_or_nothing", 2, kStateStoreContract, "a transaction is stored whole, at one revision, or not at all", all_or_nothing},
      {"revisions", 2, kStateStoreContract, "each transaction that changes something is the next revision", revisions},
      {"ranges", 2, kStateStoreContract, "ranges are in the order of bytes, within bounds and limit", ranges},
      {"state_limits", 2, kStateStoreContract, "the contract's limits are held, both ways", limits},
      {"parallel_increments", 2, kStateStoreContract, "8 threads increment one key and lose nothing", parallel_increments, 120},
      {"values_outlive_the_host", 2, kStateStoreContract, "what was acknowledged is there after a restart", values_outlive_the_host},
      {"kill_within_txn", 2, kStateStoreContract, "kill -9 within transactions loses nothing acknowledged and halves nothing", kill_within_txn, 120},
      {"txn_cancelled_and_late", 2, kStateStoreContract, "a transaction that was cancelled or is late stores nothing", cancelled_and_late},
  };
}

}  // namespace harena::conformance
