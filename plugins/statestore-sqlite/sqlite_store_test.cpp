#include <gmock/gmock.h>

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <atomic>
#include <fstream>
#include <mutex>
#include <thread>

#include "plugins/statestore-sqlite/connection.hpp"
#include "plugins/statestore-sqlite/test_support.hpp"

namespace harena::sqlite {
namespace {

using conformance::check_revision;
using conformance::delete_key;
using conformance::put_value;
using conformance::StateItem;
using testing::HasSubstr;

class Store : public StoreTest {
 protected:
  Store() { start(); }
  std::int64_t put(std::string key, std::string value) {
    auto revision = driver->txn({put_value(std::move(key), std::move(value))});
    EXPECT_TRUE(revision.ok()) << revision.error().describe();
    return revision.ok() ? *revision : -1;
  }
  std::string value_of(std::string_view key) {
    auto item = driver->get(key);
    return item.ok() && item->has_value() ? (*item)->value : "(absent)";
  }
};

TEST_F(Store, ValuesOutliveTheInstance) {
  EXPECT_EQ(1, put("a", "1"));
  EXPECT_EQ(2, put("a", "2"));
  start();
  EXPECT_EQ("2", value_of("a"));
  EXPECT_EQ(3, put("b", "x"));
}

TEST_F(Store, ChecksCompareRevisions) {
  EXPECT_TRUE(driver->txn({check_revision("a", 0), put_value("a", "1")}).ok());
  auto again = driver->txn({check_revision("a", 0), put_value("a", "2")});
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(ErrorCode::aborted, again.error().code);
  EXPECT_EQ("key 'a' is at revision 1, not absent", again.error().message);
  EXPECT_EQ("1", value_of("a"));
  EXPECT_TRUE(driver->txn({check_revision("a", 1), delete_key("a")}).ok());
  EXPECT_EQ("key 'a' is absent, not at revision 1", driver->txn({check_revision("a", 1)}).error().message);
}

TEST_F(Store, AFailedCheckUndoesTheWholeTransaction) {
  put("a", "1");
  EXPECT_FALSE(driver->txn({put_value("b", "2"), delete_key("a"), check_revision("c", 9)}).ok());
  EXPECT_EQ("1", value_of("a"));
  EXPECT_EQ("(absent)", value_of("b"));
}

TEST_F(Store, WhatChangesNothingMakesNoRevision) {
  put("a", "1");
  EXPECT_EQ(1, *driver->txn({check_revision("a", 1)}));
  EXPECT_EQ(1, *driver->txn({delete_key("nothing")}));
  EXPECT_EQ(2, put("a", "1"));
}

TEST_F(Store, RangesAreInTheOrderOfBytes) {
  for (std::string key : {"b", "a", "ab", "\xff", "B"}) put(key, key);
  put(std::string("a\0z", 3), "zero");
  auto read = driver->range("", "", 100);
  ASSERT_TRUE(read.ok());
  std::vector<std::string> keys;
  for (const auto& item : read->items) keys.push_back(item.key);
  EXPECT_EQ((std::vector<std::string>{"B", "a", std::string("a\0z", 3), "ab", "b", "\xff"}), keys);
  EXPECT_EQ(6, read->revision);
  EXPECT_EQ(2u, driver->range("a", "ab", 100)->items.size());
  EXPECT_EQ(1u, driver->range("a", "ab", 1)->items.size());
  EXPECT_EQ(0u, driver->range("c", "b", 10)->items.size());
}

TEST_F(Store, LimitsOfKeysAndValues) {
  EXPECT_EQ(1, put(std::string(1024, 'k'), std::string(1 << 20, 'v')));
  EXPECT_EQ(std::string(1 << 20, 'v'), value_of(std::string(1024, 'k')));
  EXPECT_EQ(ErrorCode::invalid_argument, driver->txn({put_value(std::string(1025, 'k'), "")}).error().code);
  EXPECT_EQ(ErrorCode::invalid_argument, driver->txn({put_value("", "")}).error().code);
  EXPECT_EQ(ErrorCode::invalid_argument, driver->txn({put_value("k", std::string((1 << 20) + 1, 'v'))}).error().code);
  EXPECT_EQ(2, put("empty", ""));
  EXPECT_EQ("", value_of("empty"));
  EXPECT_EQ("(absent)", value_of("other"));
}

TEST_F(Store, EightThreadsIncrementOneCounter) {
  constexpr int kThreads = 8, kEach = 50;
  std::atomic<int> conflicts = 0;
  put("n", "0");
  auto increment = [&] {
    for (int done = 0; done < kEach;) {
      auto item = driver->get("n");
      auto written = driver->txn({check_revision("n", (*item)->revision), put_value("n", std::to_string(std::stoi((*item)->value) + 1))});
      if (written.ok()) ++done;
      else if (written.error().code == ErrorCode::aborted) ++conflicts;
      else return ADD_FAILURE() << written.error().describe(), void();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(increment);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(std::to_string(kThreads * kEach), value_of("n"));
  EXPECT_EQ(kThreads * kEach + 1, (*driver->get("n"))->revision);
}

TEST_F(Store, ReadersSeeWholeTransactionsOnly) {
  std::atomic<bool> ending = false;
  std::thread writer([&] {
    for (int i = 0; i < 200; ++i) (void)driver->txn({put_value("x", std::to_string(i)), put_value("y", std::to_string(i))});
    ending = true;
  });
  while (!ending) {
    auto read = driver->range("x", "z", 10);
    ASSERT_TRUE(read.ok());
    if (read->items.empty()) continue;
    ASSERT_EQ(2u, read->items.size());
    EXPECT_EQ(read->items[0].value, read->items[1].value);
  }
  writer.join();
}

// Collects `count` items of a watch, then says stop.
std::vector<StateItem> watched(const StateStoreDriver& driver, std::string prefix, std::int64_t after, std::size_t count) {
  std::vector<StateItem> items;
  conformance::CallOptions options;
  options.on_item = [&](const loader::Item& item) {
    items.push_back({std::string(item.key), std::string(item.value), item.revision, item.deleted});
    return items.size() < count;
  };
  auto ended = driver.watch(prefix, after, std::move(options));
  EXPECT_EQ(ErrorCode::cancelled, ended.error().code) << ended.error().describe();
  return items;
}

TEST_F(Store, WatchesSeeEveryChangeInOrder) {
  put("a/1", "x");
  put("b/1", "x");
  EXPECT_TRUE(driver->txn({put_value("a/2", ""), delete_key("a/1")}).ok());
  auto items = watched(*driver, "a/", 0, 3);
  EXPECT_EQ((std::vector<StateItem>{{"a/1", "x", 1, false}, {"a/2", "", 3, false}, {"a/1", "", 3, true}}), items);
}

TEST_F(Store, WatchesWakeUpOnAChange) {
  std::thread later([&] { put("a", "new"); });
  auto items = watched(*driver, "", 0, 1);
  later.join();
  EXPECT_EQ("new", items.at(0).value);
}

TEST_F(Store, WatchesEndWhenCancelledOrLate) {
  std::atomic<int> asked = 0;
  conformance::CallOptions cancelling;
  cancelling.cancelled = [&] { return ++asked > 2; };
  EXPECT_EQ(ErrorCode::cancelled, driver->watch("", 0, std::move(cancelling)).error().code);
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  conformance::CallOptions late;
  late.deadline_ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec + 20'000'000;
  EXPECT_EQ(ErrorCode::deadline_exceeded, driver->watch("", 0, std::move(late)).error().code);
}

TEST_F(Store, HistoryIsBounded) {
  start({{"history_revisions", 10}});
  for (int i = 0; i < 200; ++i) put("k", std::to_string(i));
  auto old = driver->watch("", 1, {});
  EXPECT_EQ(ErrorCode::out_of_range, old.error().code);
  EXPECT_THAT(old.error().message, HasSubstr("read the range again"));
  EXPECT_EQ(ErrorCode::out_of_range, driver->watch("", 201, {}).error().code);
  EXPECT_EQ("199", watched(*driver, "", 199, 1).at(0).value);
}

TEST_F(Store, HistoryIsBoundedInBytes) {
  start({{"history_bytes", 65536}});
  for (int i = 0; i < 20; ++i) put("k" + std::to_string(i), std::string(10'000, 'v'));
  EXPECT_EQ(ErrorCode::out_of_range, driver->watch("", 5, {}).error().code);
  EXPECT_EQ(6u, watched(*driver, "", 14, 6).size());
  EXPECT_EQ(20u, driver->range("", "", 100)->items.size());
}

TEST_F(Store, AFullDatabaseRefusesAndLosesNothing) {
  start({{"max_bytes", 2'000'000}, {"history_revisions", 1}, {"history_bytes", 65536}});
  std::int64_t acknowledged = 0;
  Error full;
  for (int i = 0; i < 100; ++i) {
    auto written = driver->txn({put_value("k" + std::to_string(i), std::string(100'000, 'v'))});
    if (!written.ok()) { full = written.error(); break; }
    ++acknowledged;
  }
  EXPECT_EQ(ErrorCode::resource_exhausted, full.code) << full.describe();
  EXPECT_EQ(Cause::infrastructure, full.cause);
  EXPECT_EQ(acknowledged, std::ssize(driver->range("", "", 1000)->items));
  EXPECT_EQ(acknowledged + 1, put("small", "fits"));
  start();
  EXPECT_EQ(acknowledged + 1, std::ssize(driver->range("", "", 1000)->items));
}

// A small tmpfs, in a child with a mount namespace of its own.
int fill_a_disk(const std::string& dir) {
  std::string disk = dir + "/disk";
  ::mkdir(disk.c_str(), 0700);
  if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=2m") != 0) return 77;
  auto instance = make_instance({{"path", disk + "/state.db"}});
  if (!instance.ok()) return 1;
  auto driver = *StateStoreDriver::of(**instance);
  std::size_t acknowledged = 0;
  for (; acknowledged < 1000; ++acknowledged) {
    auto written = driver.txn({put_value("k" + std::to_string(acknowledged), std::string(50'000, 'v'))});
    if (!written.ok() && written.error().code != ErrorCode::resource_exhausted) return 2;
    if (!written.ok()) break;
  }
  if (acknowledged == 0 || acknowledged == 1000) return 3;
  return driver.range("", "", 1000)->items.size() == acknowledged ? 0 : 4;
}

TEST_F(Store, AFullDiskRefusesAndLosesNothing) {
  if (::geteuid() != 0) GTEST_SKIP() << "a small tmpfs needs root";
  pid_t child = ::fork();
  if (child == 0) ::_exit(fill_a_disk(dir));
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this host can't mount a tmpfs in a mount namespace of its own";
  EXPECT_EQ(0, WEXITSTATUS(status));
}

TEST_F(Store, ADamagedFileIsDataLossAtStart) {
  for (int i = 0; i < 200; ++i) put("key" + std::to_string(i), std::string(500, 'v'));
  instance.reset();
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096 * 3);
    std::string noise(4096 * 4, '\x5a');
    file.write(noise.data(), std::ssize(noise));
  }
  auto error = start_error();
  EXPECT_EQ(ErrorCode::data_loss, error.code) << error.describe();
  EXPECT_THAT(error.message, HasSubstr("is damaged"));
  std::ofstream(path, std::ios::trunc) << "this is no database, but long enough to be looked at as one, is it not? " << std::string(500, ' ');
  EXPECT_EQ(ErrorCode::data_loss, start_error().code) << start_error().describe();
}

TEST_F(Store, FilesAreForTheOwnerAlone) {
  put("a", "1");
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    EXPECT_EQ(std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, entry.status().permissions()) << entry.path();
  }
}

TEST_F(Store, OtherFilesAndNewerVersionsAreRefused) {
  instance.reset();
  { ASSERT_TRUE((*Connection::open(path, false))->execute("PRAGMA user_version = 99").ok()); }
  auto newer = start_error();
  EXPECT_EQ(ErrorCode::failed_precondition, newer.code);
  EXPECT_THAT(newer.message, HasSubstr("schema version 99, this plugin knows 1"));
  { ASSERT_TRUE((*Connection::open(path, false))->execute("PRAGMA application_id = 7").ok()); }
  EXPECT_THAT(start_error().message, HasSubstr("of another program"));
}

TEST_F(Store, TheConfigurationIsChecked) {
  EXPECT_THAT(start_error({{"path", "relative.db"}}).message, HasSubstr("config.path is 'relative.db'"));
  EXPECT_THAT(start_error({{"synchronus", "full"}}).message, HasSubstr("did you mean 'synchronous'?"));
  EXPECT_FALSE(start_error({{"path", "/proc/nowhere/state.db"}}).message.empty());
}

TEST_F(Store, ASecondProcessIsKeptOut) {
  pid_t child = ::fork();
  if (child == 0) {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    auto library = loader::Library::from_descriptor(harena_plugin_entry_statestore_sqlite());
    conformance::CallOptions soon;
    soon.deadline_ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec + 50'000'000;
    auto second = (*library)->create(nullptr, {{"path", path}}, std::move(soon));
    ::_exit(!second.ok() && second.error().code == ErrorCode::deadline_exceeded ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(0, WEXITSTATUS(status));
}

}  // namespace
}  // namespace harena::sqlite
