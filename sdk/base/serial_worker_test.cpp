#include "sdk/base/serial_worker.hpp"

#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace harena {
namespace {

TEST(SerialWorker, DoesThingsInTheirOrder) {
  std::vector<int> done;
  SerialWorker worker;
  for (int i = 0; i < 100; ++i) worker.add([&done, i] { done.push_back(i); });
  worker.wait_idle();
  ASSERT_EQ(done.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<std::size_t>(i)], i);
}

TEST(SerialWorker, IsntIdleWhileItWorks) {
  std::promise<void> go;
  bool done = false;
  SerialWorker worker;
  worker.add([&, ready = go.get_future().share()] { ready.wait(), done = true; });
  go.set_value();
  worker.wait_idle();
  EXPECT_TRUE(done);
}

TEST(SerialWorker, DropsNothingAtItsEnd) {
  int done = 0;
  {
    SerialWorker worker;
    worker.add([&] {
      ++done;
      worker.add([&] { ++done; });
    });
  }
  EXPECT_EQ(done, 2);
}

}  // namespace
}  // namespace harena
