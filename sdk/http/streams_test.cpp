#include <gtest/gtest.h>

#include <sys/socket.h>

#include "sdk/http/async_event.hpp"
#include "sdk/http/memory_pipe.hpp"
#include "sdk/http/socket_stream.hpp"
#include "sdk/http/test_support.hpp"

namespace harena::http {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using Pair = std::pair<std::unique_ptr<ByteStream>, std::unique_ptr<ByteStream>>;

Task<Result<std::string>> read_all(ByteStream& stream) {
  std::string text;
  std::vector<std::byte> block(777);
  while (true) {
    HARENA_CO_TRY(const std::size_t count, co_await stream.read(block));
    if (count == 0) co_return text;
    text.append(reinterpret_cast<const char*>(block.data()), count);
  }
}

Task<void> write_and_end(ByteStream& stream, std::string text, int& failures) {
  failures += !(co_await stream.write(std::string_view(text))).ok();
  failures += !(co_await stream.shutdown_write()).ok();
}

Task<Pair> socket_pair() {
  int fds[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  auto first = co_await adopt_stream(UniqueFd(fds[0]));
  auto second = co_await adopt_stream(UniqueFd(fds[1]));
  co_return Pair(std::move(*first), std::move(*second));
}

Task<Pair> make_pair(bool sockets) {
  if (sockets) co_return co_await socket_pair();
  co_return memory_pipe(1000);
}

class Streams : public testing::TestWithParam<bool> {
 protected:
  IoThreads io_{1};
};
INSTANTIATE_TEST_SUITE_P(MemoryAndSockets, Streams, testing::Bool());

TEST_P(Streams, CarryBytesAndHalfClose) {
  auto task = [](bool sockets) -> Task<std::string> {
    auto [a, b] = co_await make_pair(sockets);
    const std::string big(1 << 20, 'x');
    int failures = 0;
    auto executor = co_await asio::this_coro::executor;
    asio::co_spawn(executor, write_and_end(*a, big, failures), asio::detached);
    auto got = co_await read_all(*b);
    EXPECT_EQ(got.ok() && *got == big, true);
    co_await write_and_end(*b, "answer", failures);  // b's direction still works
    auto answer = co_await read_all(*a);
    EXPECT_EQ(failures, 0);
    co_return answer.ok() ? *answer : answer.error().describe();
  };
  EXPECT_EQ(run_on(io_, task(GetParam())), "answer");
}

TEST_P(Streams, PumpPassesHalfCloseOn) {
  auto task = [](bool sockets) -> Task<std::string> {
    auto [client, left] = co_await make_pair(sockets);
    auto [right, service] = co_await make_pair(sockets);
    auto executor = co_await asio::this_coro::executor;
    int failures = 0;
    auto serve = [](ByteStream& stream, int& bad) -> Task<void> {
      auto request = co_await read_all(stream);  // answers only after end of file
      const std::size_t size = request.ok() ? request->size() : 0;
      co_await write_and_end(stream, "got " + std::to_string(size), bad);
    };
    auto forward = [](ByteStream& a, ByteStream& b, int& bad) -> Task<void> { bad += !(co_await pump(a, b)).ok(); };
    asio::co_spawn(executor, serve(*service, failures), asio::detached);
    auto pumping = asio::co_spawn(executor, forward(*left, *right, failures), asio::deferred);
    auto asking = [](ByteStream& stream, int& bad) -> Task<std::string> {
      co_await write_and_end(stream, std::string(300000, 'y'), bad);
      auto answer = co_await read_all(stream);
      co_return answer.ok() ? *answer : answer.error().describe();
    };
    auto [order, pump_error, ask_error, answer] =
        co_await asio::experimental::make_parallel_group(
            std::move(pumping), asio::co_spawn(executor, asking(*client, failures), asio::deferred))
            .async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
    EXPECT_EQ(failures, 0);
    co_return answer;
  };
  EXPECT_EQ(run_on(io_, task(GetParam())), "got 300000");
}

TEST_P(Streams, AClosedPeerIsAnError) {
  auto task = [](bool sockets) -> Task<bool> {
    auto [a, b] = co_await make_pair(sockets);
    b->close();
    const std::string big(1 << 20, 'x');
    auto status = co_await a->write(std::string_view(big));
    co_return !status.ok() && status.error().code == ErrorCode::unavailable;
  };
  EXPECT_TRUE(run_on(io_, task(GetParam())));
}

TEST_P(Streams, WithPrefixComesFirst) {
  auto task = [](bool sockets) -> Task<std::string> {
    auto [a, b] = co_await make_pair(sockets);
    const std::string prefix = "first ";
    auto joined = with_prefix(std::move(b), std::as_bytes(std::span(prefix)));
    int failures = 0;
    co_await write_and_end(*a, "second", failures);
    auto text = co_await read_all(*joined);
    co_return *text;
  };
  EXPECT_EQ(run_on(io_, task(GetParam())), "first second");
}

TEST_P(Streams, ATimeoutCancelsARead) {
  auto task = [](bool sockets) -> Task<ErrorCode> {
    auto [a, b] = co_await make_pair(sockets);
    std::vector<std::byte> block(10);
    auto got = co_await with_timeout(a->read(block), 20ms, "reading");
    co_return got.ok() ? ErrorCode::ok : got.error().code;
  };
  EXPECT_EQ(run_on(io_, task(GetParam())), ErrorCode::deadline_exceeded);
}

TEST(Connect, RefusalIsUnavailableAndNamesTheAddress) {
  IoThreads io(1);
  std::uint16_t port = 0;
  {
    TestServer server([](Request&, ResponseWriter&) -> Task<Status> { co_return ok_status(); });
    port = server.port();
  }
  const auto stream = run_on(io, connect_tcp("127.0.0.1", port));
  ASSERT_FALSE(stream.ok());
  EXPECT_EQ(stream.error().code, ErrorCode::unavailable);
  EXPECT_THAT(stream.error().message, testing::HasSubstr("127.0.0.1:" + std::to_string(port)));
  EXPECT_EQ(run_on(io, connect_unix("/nonexistent/socket")).error().code, ErrorCode::not_found);
  EXPECT_EQ(run_on(io, connect_unix(std::string(200, 'x'))).error().code, ErrorCode::invalid_argument);
}

TEST(AsyncEvent, WakesAcrossThreadsAndTimesOut) {
  IoThreads io(2);
  AsyncEvent event;
  EXPECT_FALSE(run_on(io, event.wait_past_for(0, 1ms)));
  auto wait = [](AsyncEvent& on) -> Task<int> {
    for (std::uint64_t seen = 0; seen < 1000; seen = on.generation()) co_await on.wait_past(seen);
    co_return 1;
  };
  std::thread notifier([&] {
    for (int i = 0; i < 1000; ++i) event.notify();
  });
  EXPECT_EQ(run_on(io, wait(event)), 1);
  notifier.join();
  EXPECT_TRUE(run_on(io, event.wait_past_for(999, 1h)));
}

TEST(Blocking, ReturnsValuesAndExceptions) {
  IoThreads io(1);
  asio::thread_pool pool(1);
  auto ask = [](asio::thread_pool& on) -> Task<std::string> {
    auto id = co_await blocking(on, [] { return std::this_thread::get_id(); });
    co_await blocking(on, [] {});
    std::string outcome = id == std::this_thread::get_id() ? "same thread" : "other thread";
    try {
      co_await blocking(on, []() -> int { throw std::runtime_error(", thrown"); });
    } catch (const std::runtime_error& error) {
      outcome += error.what();
    }
    co_return outcome;
  };
  EXPECT_EQ(run_on(io, ask(pool)), "other thread, thrown");
}

}  // namespace
}  // namespace harena::http
