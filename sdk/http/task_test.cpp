#include "sdk/http/task.hpp"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <future>

namespace harena::http {
namespace {

namespace asio = boost::asio;

/// The client goes while a worker is at its call: 2 workers, so that the other one could be told of it.
TEST(Blocking, ACallerIsCancelledWhileItRuns) {
  asio::thread_pool pool(2);
  asio::io_context loop;
  asio::cancellation_signal gone;
  std::promise<void> told;
  bool ran = false, ended = false;
  auto caller = [&]() -> Task<void> {
    co_await blocking(pool, [&] {
      asio::post(loop, [&] {
        gone.emit(asio::cancellation_type::terminal);
        // Whatever it asks of the pool has been asked before this.
        asio::post(pool, [&] { told.set_value(); });
      });
      told.get_future().wait();
      ran = true;
    });
  };
  asio::co_spawn(loop, caller(), asio::bind_cancellation_slot(gone.slot(), [&](std::exception_ptr) { ended = true; }));
  loop.run();
  EXPECT_TRUE(ran);
  EXPECT_TRUE(ended) << "it waited until the work was through";
}

}  // namespace
}  // namespace harena::http
