// What is synced when: a relaxed transaction within a second, any other before it returns, and all that came before with it.
//
// The program's own fdatasync and fsync are found before the C library's, by SQLite too.

#include <fcntl.h>
#include <sys/syscall.h>

#include <atomic>

#include "plugins/statestore-sqlite/log_flusher.hpp"
#include "plugins/statestore-sqlite/test_support.hpp"
#include "sdk/abi/state_store.h"

namespace {
std::atomic<int> g_syncs{0};
std::atomic<int> g_error{0};

int counted(long number, int fd) {
  const int error = g_error;
  const int done = error == 0 ? static_cast<int>(::syscall(number, fd)) : -1;
  if (error != 0) errno = error;
  ++g_syncs;
  g_syncs.notify_all();
  return done;
}
}  // namespace

extern "C" __attribute__((visibility("default"))) int fdatasync(int fd) { return counted(SYS_fdatasync, fd); }
extern "C" __attribute__((visibility("default"))) int fsync(int fd) { return counted(SYS_fsync, fd); }

namespace harena::sqlite {
namespace {

using conformance::put_value;

class Sync : public StoreTest {
 protected:
  Sync() { start(); }
  ~Sync() override { g_error = 0; }
  Result<std::int64_t> put(std::uint32_t flags) {
    loader::CallOptions options;
    options.flags = flags;
    return driver->txn({put_value("k", std::to_string(++value_))}, options);
  }
  /// The first commit in a new log syncs the log's header whatever it is: made before anything is counted.
  void begin() {
    ASSERT_TRUE(put(0).ok());
    before = g_syncs;
  }
  int before = 0;

 private:
  int value_ = 0;
};

TEST_F(Sync, ATransactionIsSyncedBeforeItReturns) {
  begin();
  ASSERT_TRUE(put(0).ok());
  EXPECT_GT(g_syncs, before);
}

TEST_F(Sync, RelaxedTransactionsShareOneSyncAndItComesByItself) {
  begin();
  // All within the flusher's delay, unless the machine stands still for half a second: then there is a sync more.
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(put(HARENA_STATE_RELAXED).ok());
  EXPECT_LE(g_syncs, before + 2);
  for (int seen = g_syncs; seen == before; seen = g_syncs) g_syncs.wait(seen);  // the test's time limit is the assertion
  EXPECT_LE(g_syncs, before + 3);
}

TEST_F(Sync, AnUnknownBitMeansNothing) {
  begin();
  ASSERT_TRUE(put(0x8000'0000u).ok());
  EXPECT_GT(g_syncs, before);
}

TEST_F(Sync, WhatIsLeftIsSyncedAtTheEnd) {
  begin();
  ASSERT_TRUE(put(HARENA_STATE_RELAXED).ok());
  driver.reset();
  instance.reset();
  EXPECT_GT(g_syncs, before);
}

TEST_F(Sync, AfterAFlushThatFailedCommitsAreSyncedAndSaySo) {
  begin();
  g_error = EIO;
  ASSERT_TRUE(put(HARENA_STATE_RELAXED).ok());
  for (int seen = g_syncs; seen == before; seen = g_syncs) g_syncs.wait(seen);
  Result<std::int64_t> told = 0;
  // The flusher notes its failure after the sync has returned.
  for (int i = 0; i < 1'000'000 && told.ok(); ++i) told = put(HARENA_STATE_RELAXED);
  EXPECT_EQ(ErrorCode::unavailable, told.error().code);
  g_error = 0;
  EXPECT_TRUE(put(HARENA_STATE_RELAXED).ok());
}

TEST(LogFlusher, WithoutALogThereIsNothingToDo) {
  LogFlusher flusher("/nowhere/state.db");
  flusher.left_unsynced();
  EXPECT_FALSE(flusher.failed());
}

}  // namespace
}  // namespace harena::sqlite
