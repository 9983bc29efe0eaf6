#include "shim/leftovers.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "shim/event_loop.hpp"

namespace harena::shim {
namespace {

TEST(Leftovers, AWorkerWhoseShimHasGoneSaysSo) {
  const SystemClock clock;
  auto loop = EventLoop::create(clock);
  ASSERT_TRUE(loop.ok());
  auto leftovers = Leftovers::create(**loop);
  ASSERT_TRUE(leftovers.ok());
  const UniqueFd line(::dup((*leftovers)->worker_side()));
  EXPECT_TRUE(announce_leftover(line.get(), -1, "half"));
  leftovers->reset();
  auto told = announce_leftover(line.get(), -1, "half");
  ASSERT_FALSE(told);
  EXPECT_TRUE(is_death_of_shim(told.error())) << told.error().describe();
}

TEST(Leftovers, AnotherFailureIsNotTheDeathOfTheShim) {
  const UniqueFd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  auto told = announce_leftover(file.get(), -1, "half");
  ASSERT_FALSE(told);
  EXPECT_FALSE(is_death_of_shim(told.error()));
  EXPECT_TRUE(announce_leftover(-1, -1, "half")) << "without a line there is nobody to be told";
}

}  // namespace
}  // namespace harena::shim
