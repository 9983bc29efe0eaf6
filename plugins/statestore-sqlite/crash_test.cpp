// kill -9 in the middle of transactions: what was acknowledged is there, and no half of anything.

#include <sys/wait.h>

#include <csignal>
#include <map>
#include <thread>

#include "plugins/statestore-sqlite/test_support.hpp"
#include "sdk/abi/state_store.h"
#include "sdk/base/unique_fd.hpp"

namespace harena::sqlite {
namespace {

using conformance::put_value;

constexpr int kWriters = 4;

// Each writer puts pairs that must stay equal, and tells each acknowledged number down the pipe.
[[noreturn]] void write_until_killed(const std::string& path, int out) {
  auto instance = make_instance({{"path", path}});
  if (!instance.ok()) ::_exit(1);
  auto driver = *StateStoreDriver::of(**instance);
  auto write = [&](int writer) {
    std::string name = std::to_string(writer);
    for (int i = 1;; ++i) {
      std::string value = std::to_string(i);
      // Every other writer's are relaxed: they too outlive the process, which is all that is lost here.
      loader::CallOptions options;
      options.flags = writer % 2 == 0 ? HARENA_STATE_RELAXED : 0;
      if (!driver.txn({put_value("left/" + name, value), put_value("right/" + name, value)}, options).ok()) ::_exit(2);
      int message[2] = {writer, i};
      if (::write(out, message, sizeof(message)) != sizeof(message)) ::_exit(3);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kWriters; ++i) threads.emplace_back(write, i);
  for (auto& thread : threads) thread.join();
  ::_exit(4);
}

// Kills the child after `count` acknowledgements; the last number that each writer heard.
std::map<int, int> run_and_kill(const std::string& path, int count) {
  int ends[2];
  EXPECT_EQ(0, ::pipe(ends));
  pid_t child = ::fork();
  if (child == 0) write_until_killed(path, ends[1]);
  UniqueFd in(ends[0]), out(ends[1]);
  out.reset();
  std::map<int, int> acknowledged;
  int message[2];
  for (int i = 0; ::read(in.get(), message, sizeof(message)) == sizeof(message); ++i) {
    acknowledged[message[0]] = message[1];
    if (i == count) ::kill(child, SIGKILL);  // and read on, what was told before
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself with " << WEXITSTATUS(status);
  return acknowledged;
}

class Crash : public StoreTest {};

TEST_F(Crash, NothingAcknowledgedIsLostAndNothingIsHalf) {
  for (int round = 0; round < 8; ++round) {
    auto acknowledged = run_and_kill(path, 20 + 17 * round);
    start({{"check", "full"}});
    for (auto [writer, number] : acknowledged) {
      auto left = driver->get("left/" + std::to_string(writer));
      auto right = driver->get("right/" + std::to_string(writer));
      ASSERT_TRUE(left.ok() && left->has_value() && right.ok() && right->has_value());
      EXPECT_EQ((*left)->value, (*right)->value);
      EXPECT_EQ((*left)->revision, (*right)->revision);
      EXPECT_GE(std::stoi((*left)->value), number);
    }
    driver.reset();
    instance.reset();
  }
}

}  // namespace
}  // namespace harena::sqlite
