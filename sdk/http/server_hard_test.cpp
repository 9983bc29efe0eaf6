// What clients do wrong, slowly, or in masses.
#include <gtest/gtest.h>

#include <dirent.h>
#include <sys/resource.h>

#include <atomic>
#include <condition_variable>

#include "sdk/http/async_event.hpp"
#include "sdk/http/test_support.hpp"

namespace harena::http {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;
using Clock = std::chrono::steady_clock;

Task<Status> hello(Request&, ResponseWriter& response) { co_return co_await response.send(200, Headers(), "hello"); }

// A value that the test waits for without polling.
template <class T>
class Awaited {
 public:
  void set(T value) {
    std::lock_guard lock(mutex_);
    value_ = std::move(value);
    changed_.notify_all();
  }
  std::optional<T> get(std::chrono::seconds limit = 10s) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, limit, [&] { return value_.has_value(); });
    return value_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<T> value_;
};

std::string answer_to(std::uint16_t port, std::string_view request) {
  RawClient client(port);
  client.send(request);
  client.half_close();
  return client.read_to_end();
}

struct BadRequest {
  friend void PrintTo(const BadRequest& request, std::ostream* out) { *out << request.name; }
  const char* name;
  std::string bytes;
  const char* status;
};

class Refused : public testing::TestWithParam<BadRequest> {};

TEST_P(Refused, WithAReasonAndAClosedConnection) {
  std::atomic<int> handled{0};
  TestServer server([&](Request& request, ResponseWriter& response) -> Task<Status> {
    ++handled;
    HARENA_CO_TRY_STATUS(co_await request.read_all(1000));
    co_return co_await response.send(200, Headers(), "ok");
  });
  const auto answer = answer_to(server.port(), GetParam().bytes);
  EXPECT_THAT(answer, StartsWith(std::string("HTTP/1.1 ") + GetParam().status));
  EXPECT_THAT(answer, HasSubstr("\"error\""));
  EXPECT_EQ(answer.find("HTTP/1.1 200"), std::string::npos);
}

const std::string kStart = "POST / HTTP/1.1\r\nHost: x\r\n";
INSTANTIATE_TEST_SUITE_P(
    Malformed, Refused,
    testing::Values(
        BadRequest{"garbage", "\x16\x03\x01garbage\r\n\r\n", "400"},
        BadRequest{"no_version", "GET /\r\n\r\n", "400"},
        BadRequest{"version_2", "GET / HTTP/2.0\r\nHost: x\r\n\r\n", "505"},
        BadRequest{"bare_newlines", "GET / HTTP/1.1\nHost: x\n\n", "505"},
        BadRequest{"space_before_colon", "GET / HTTP/1.1\r\nHost : x\r\n\r\n", "400"},
        BadRequest{"nul_in_value", kStart + std::string("A: b\0c\r\n\r\n", 10), "400"},
        BadRequest{"folded_line", kStart + "A: b\r\n c\r\nContent-Length: 0\r\n\r\n", "400"},
        BadRequest{"no_host", "GET / HTTP/1.1\r\n\r\n", "400"},
        BadRequest{"two_hosts", "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", "400"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Smuggling, Refused,
    testing::Values(
        BadRequest{"length_and_chunked", kStart + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
        BadRequest{"chunked_and_length", kStart + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", "400"},
        BadRequest{"two_equal_lengths", kStart + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", "400"},
        BadRequest{"two_lengths", kStart + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", "400"},
        BadRequest{"length_list", kStart + "Content-Length: 3, 3\r\n\r\nabc", "400"},
        BadRequest{"length_plus", kStart + "Content-Length: +3\r\n\r\nabc", "400"},
        BadRequest{"length_hex", kStart + "Content-Length: 0x3\r\n\r\nabc", "400"},
        BadRequest{"length_huge", kStart + "Content-Length: 99999999999999999999\r\n\r\nabc", "400"},
        BadRequest{"length_negative", kStart + "Content-Length: -1\r\n\r\nabc", "400"},
        BadRequest{"gzip_chunked", kStart + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "501"},
        BadRequest{"chunked_twice", kStart + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", "501"},
        BadRequest{"identity", kStart + "Transfer-Encoding: identity\r\n\r\n", "501"},
        BadRequest{"tab_chunked", kStart + "Transfer-Encoding: \x0b" "chunked\r\n\r\n0\r\n\r\n", "400"},
        BadRequest{"chunked_1_0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
        BadRequest{"bad_chunk", kStart + "Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n", "400"},
        BadRequest{"chunk_too_long", kStart + "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n", "400"}),
    [](const auto& info) { return info.param.name; });

TEST(ServerHard, RefusesHugeHeaders) {
  TestServer server(hello);
  const std::string big(40 * 1024, 'a');
  EXPECT_THAT(answer_to(server.port(), "GET / HTTP/1.1\r\nHost: x\r\nA: " + big + "\r\n\r\n"), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(answer_to(server.port(), "GET /" + big + " HTTP/1.1\r\nHost: x\r\n\r\n"), StartsWith("HTTP/1.1 431"));
  std::string many = "GET / HTTP/1.1\r\nHost: x\r\n";
  for (int i = 0; i < 200; ++i) many += "A: b\r\n";
  EXPECT_THAT(answer_to(server.port(), many + "\r\n"), StartsWith("HTTP/1.1 431"));
  std::string split = "GET / HTTP/1.1\r\nHost: x\r\n";  // no field is too large alone
  for (int i = 0; i < 60; ++i) split += "A: " + std::string(1000, 'a') + "\r\n";
  EXPECT_THAT(answer_to(server.port(), split + "\r\n"), StartsWith("HTTP/1.1 431"));
}

TEST(ServerHard, AnswersAClientThatHalfCloses) {
  TestServer server(hello);
  EXPECT_THAT(answer_to(server.port(), "GET / HTTP/1.1\r\nHost: x\r\n\r\n"), HasSubstr("hello"));
}

TEST(ServerHard, ASlowHeaderTimesOut) {
  ServerOptions options;
  options.header_timeout = 100ms;
  TestServer server(hello, options);
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHo");
  EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 408"));
}

TEST(ServerHard, AnIdleConnectionIsClosed) {
  ServerOptions options;
  options.idle_timeout = 100ms;
  TestServer server(hello, options);
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.read_answer().body, "hello");
  EXPECT_EQ(client.read_to_end(), "");
}

TEST(ServerHard, OneConnectionTooManyIsToldSo) {
  ServerOptions options;
  options.max_connections = 1;
  TestServer server(hello, options);
  RawClient first(server.port());
  first.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  first.read_answer();
  RawClient second(server.port());
  EXPECT_THAT(second.read_to_end(), StartsWith("HTTP/1.1 503"));
}

// A handler that waits for ever, and tells when and why it stopped.
struct Waiting {
  AsyncEvent never;
  Awaited<bool> started;
  Awaited<bool> ended;
  Awaited<bool> reported_gone;

  Handler handler(bool stream) {
    return [this, stream](Request& request, ResponseWriter& response) -> Task<Status> {
      struct AtEnd {
        Waiting& waiting;
        Request& request;
        ~AtEnd() { waiting.ended.set(request.cancelled()); }
      } at_end{*this, request};
      if (stream) {
        HARENA_CO_TRY_STATUS(co_await response.begin(200, Headers()));
      }
      started.set(true);
      co_await never.wait_past(0);
      co_return ok_status();
    };
  }
  ServerOptions options() {
    ServerOptions made;
    made.on_exchange = [this](const Exchange& exchange) { reported_gone.set(exchange.client_gone); };
    return made;
  }
};

class Disconnect : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(UnaryAndStream, Disconnect, testing::Bool());

TEST_P(Disconnect, CancelsTheHandlerWithinASecond) {
  Waiting waiting;
  TestServer server(waiting.handler(GetParam()), waiting.options());
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(waiting.started.get());
  const auto left_at = Clock::now();
  client.close();
  EXPECT_EQ(waiting.ended.get(), true);
  EXPECT_LT(Clock::now() - left_at, 1s + 500ms);  // the promise is a second; the rest is for a loaded machine
  EXPECT_EQ(waiting.reported_gone.get(), true);
}

TEST_P(Disconnect, AResetCancelsAtOnce) {
  Waiting waiting;
  TestServer server(waiting.handler(GetParam()), waiting.options());
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(waiting.started.get());
  const auto left_at = Clock::now();
  client.reset();
  EXPECT_EQ(waiting.ended.get(), true);
  EXPECT_LT(Clock::now() - left_at, 500ms);
}

TEST_P(Disconnect, IsNoticedBehindAnUnreadBody) {
  Waiting waiting;
  TestServer server(waiting.handler(GetParam()), waiting.options());
  RawClient client(server.port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + std::string(50000, 'x'));
  ASSERT_TRUE(waiting.started.get());
  client.close();
  EXPECT_EQ(waiting.ended.get(), true);
}

TEST(ServerHard, DrainLetsRequestsEndAndClosesIdleConnections) {
  AsyncEvent go;
  Awaited<bool> started;
  TestServer server([&](Request& request, ResponseWriter& response) -> Task<Status> {
    if (request.path() == "/slow") {
      started.set(true);
      co_await go.wait_past(0);
    }
    co_return co_await response.send(200, Headers(), "done");
  });
  RawClient idle(server.port());
  idle.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  idle.read_answer();
  RawClient busy(server.port());
  busy.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(started.get());
  std::thread stopper([&] { server.server().stop(10s); });
  while (true) {  // until the server has heard of it
    RawClient late(server.port());
    late.send("GET /late HTTP/1.1\r\nHost: x\r\n\r\n");
    const auto refused = late.read_answer();
    if (refused.body == "done") continue;
    EXPECT_THAT(refused.head, StartsWith("HTTP/1.1 503 "));
    EXPECT_THAT(refused.head, HasSubstr("Connection: close\r\n"));
    EXPECT_THAT(refused.head, HasSubstr("Retry-After: 1\r\n"));
    EXPECT_THAT(refused.body, HasSubstr("\"draining\""));
    break;
  }
  go.notify();
  EXPECT_EQ(idle.read_to_end(), "");
  const auto all = busy.read_to_end();
  EXPECT_THAT(all, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(all, HasSubstr("done"));
  stopper.join();
  EXPECT_EQ(server.server().connections(), 0u);
}

TEST(ServerHard, DrainCancelsWhatOutlastsItsDeadline) {
  Waiting waiting;
  TestServer server(waiting.handler(true), waiting.options());
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(waiting.started.get());
  server.server().stop(10ms);
  EXPECT_EQ(waiting.ended.get(), true);
  EXPECT_EQ(waiting.reported_gone.get(), false);
}

TEST(ServerHard, ACancelledCallIsToldThatTheServerStops) {
  Waiting waiting;
  TestServer server(waiting.handler(false), waiting.options());
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(waiting.started.get());
  server.server().stop(10ms);
  const auto all = client.read_to_end();
  EXPECT_THAT(all, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(all, HasSubstr(R"("retry":"same_node")"));
}

// A stream that can be gone on with doesn't hold the drain up: it ends at once, properly, with its last words.
TEST(ServerHard, DrainEndsResumableStreamsWithTheirLastWords) {
  AsyncEvent never;
  Awaited<bool> started;
  TestServer server([&](Request&, ResponseWriter& response) -> Task<Status> {
    response.set_last_words("come again\n");
    HARENA_CO_TRY_STATUS(co_await response.begin(200, Headers()));
    HARENA_CO_TRY_STATUS(co_await response.write("first\n"));
    started.set(true);
    co_await never.wait_past(0);
    co_return ok_status();
  });
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(started.get());
  server.server().stop(1h);
  EXPECT_EQ(client.read_answer().body, "first\ncome again\n");
}

// A reader that reads nothing holds the writer back, and what it gets in the end is whole.
TEST(ServerHard, ASlowReaderHoldsTheHandlerBack) {
  constexpr std::size_t kTotal = 64 << 20;
  constexpr std::size_t kBlock = 64 << 10;
  std::atomic<std::size_t> written{0};
  TestServer server([&](Request&, ResponseWriter& response) -> Task<Status> {
    HARENA_CO_TRY_STATUS(co_await response.begin(200, Headers(), kTotal));
    const std::string block(kBlock, 'x');
    for (std::size_t sent = 0; sent < kTotal; sent += kBlock) {
      HARENA_CO_TRY_STATUS(co_await response.write(block));
      written += kBlock;
    }
    co_return co_await response.finish();
  });
  RawClient client(server.port(), 16 << 10);
  client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  client.read_until("\r\n\r\n");
  for (std::size_t before = 1; before != written;) {  // until it stands still
    before = written;
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_LT(written, 16u << 20);
  EXPECT_EQ(client.read_to_end().size(), kTotal);
}

TEST(ServerHard, AClientThatReadsNothingForTooLongIsDropped) {
  Awaited<bool> gone;
  ServerOptions options;
  options.write_stall_timeout = 100ms;
  options.on_exchange = [&](const Exchange& exchange) { gone.set(exchange.client_gone); };
  TestServer server(
      [](Request&, ResponseWriter& response) -> Task<Status> {
        HARENA_CO_TRY_STATUS(co_await response.begin(200, Headers()));
        const std::string block(1 << 20, 'x');
        while (true) HARENA_CO_TRY_STATUS(co_await response.write(block));
      },
      options);
  RawClient client(server.port(), 4096);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(gone.get(), true);
}

TEST(ServerHard, AnErrorReachesAClientThatStillSends) {
  TestServer server([](Request&, ResponseWriter&) -> Task<Status> {
    co_return make_error(ErrorCode::permission_denied, "no");
  });
  RawClient client(server.port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n" + std::string(1000000, 'x'));
  EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 403"));
}

std::size_t threads_of_this_process() {
  std::size_t count = 0;
  auto* const folder = ::opendir("/proc/self/task");
  while (const auto* entry = ::readdir(folder)) count += entry->d_name[0] != '.';
  ::closedir(folder);
  return count;
}

TEST(ServerHard, TwoThousandIdleStreamsCostNoThread) {
  constexpr int kStreams = 2000;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_cur < 2 * kStreams + 100) GTEST_SKIP() << "this host allows only " << files.rlim_cur << " open files";
  AsyncEvent go;
  TestServer server([&](Request&, ResponseWriter& response) -> Task<Status> {
    HARENA_CO_TRY_STATUS(co_await response.begin(200, Headers()));
    co_await go.wait_past(0);
    HARENA_CO_TRY_STATUS(co_await response.write("bye"));
    co_return co_await response.finish();
  });
  const auto before = threads_of_this_process();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < kStreams; ++i) {
    clients.push_back(std::make_unique<RawClient>(server.port()));
    clients.back()->send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  for (auto& client : clients) client->read_until("\r\n\r\n");
  EXPECT_EQ(threads_of_this_process(), before);
  go.notify();
  for (auto& client : clients) EXPECT_EQ(client->read_until("0\r\n\r\n"), "3\r\nbye\r\n0\r\n\r\n");
}

}  // namespace
}  // namespace harena::http
