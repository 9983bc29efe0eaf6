// A client, the API's server, and a service "in the sandbox", all real sockets.
#include <gtest/gtest.h>

#include "core/api/ports/forward.hpp"
#include "sdk/http/async_event.hpp"
#include "sdk/http/router.hpp"
#include "sdk/http/socket_stream.hpp"
#include "sdk/http/test_support.hpp"

namespace harena {
namespace {

namespace asio = boost::asio;
using http::ByteStream;
using http::Headers;
using http::Request;
using http::ResponseWriter;
using http::Task;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using Service = std::function<Task<void>(ByteStream&)>;

// A port that speaks bytes, each connection by a coroutine; keeps what it got for the test.
class RawPort {
 public:
  explicit RawPort(http::IoThreads& io, Service service) : service_(std::move(service)), acceptor_(io.at(0), {asio::ip::address_v4::loopback(), 0}) {
    asio::co_spawn(io.at(0), accept(), asio::detached);
  }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  Task<void> accept() {
    while (true) {
      auto socket = co_await acceptor_.async_accept(asio::use_awaitable);
      asio::co_spawn(socket.get_executor(), serve(std::move(socket)), asio::detached);
    }
  }
  Task<void> serve(asio::ip::tcp::socket socket) {
    auto stream = http::socket_stream(http::StreamSocket(std::move(socket)));
    co_await service_(*stream);
  }
  Service service_;
  asio::ip::tcp::acceptor acceptor_;
};

// Reads the request's bytes up to `mark`, then writes `answer` and ends.
Service canned(std::string mark, std::string answer, std::string* got = nullptr) {
  return [=](ByteStream& stream) -> Task<void> {
    std::string text;
    std::vector<std::byte> block(65536);
    while (text.find(mark) == std::string::npos) {
      auto count = co_await stream.read(block);
      if (!count.ok() || *count == 0) break;
      text.append(reinterpret_cast<const char*>(block.data()), *count);
    }
    if (got != nullptr) *got = text;
    (void)co_await stream.write(std::string_view(answer));
    (void)co_await stream.shutdown_write();
    (void)co_await stream.read(block);
  };
}

class PortsTest : public testing::Test {
 protected:
  PortsTest() {
    http::Route route;
    route.method = "*";
    route.pattern = "/sandboxes/{id}/ports/{port}/{*rest}";
    route.handler = [this](Request& request, ResponseWriter& response) { return forward(request, response); };
    EXPECT_TRUE(router_.add(std::move(route)).ok());
    api_ = std::make_unique<http::TestServer>(router_.handler());
  }

  Task<Status> forward(Request& request, ResponseWriter& response) {
    PortForward to;
    HARENA_CO_TRY(to.port, parse_port(request.param("port")));
    to.rest = request.param("rest");
    const PortOpener open = [&request](std::uint16_t port) { return open_port(request.param("id"), port); };
    co_return co_await forward_to_port(request, response, to, open);
  }
  static Task<Result<std::unique_ptr<ByteStream>>> open_port(std::string id, std::uint16_t port) {
    if (id == "stopped") co_return make_error(ErrorCode::failed_precondition, "sandbox 'stopped' is stopped, not running");
    if (id == "broken") co_return infrastructure_error(ErrorCode::unavailable, "shim", "the shim doesn't answer");
    co_return co_await http::connect_tcp("127.0.0.1", port);
  }

  std::string path(std::uint16_t port, std::string rest) { return "/sandboxes/a/ports/" + std::to_string(port) + rest; }
  http::FetchResponse fetch(http::FetchRequest request) { return api_->fetch(std::move(request)); }

  http::Router router_;
  std::unique_ptr<http::TestServer> api_;
};

// A sandbox service that tells what it was asked.
Task<Status> mirror(Request& request, ResponseWriter& response) {
  HARENA_CO_TRY(const auto body, co_await request.read_all(1 << 20));
  std::string text = request.method() + " " + request.target() + "\n";
  for (const auto& [name, value] : request.headers()) text += name + ": " + value + "\n";
  text += "\n" + body;
  for (const auto& [name, value] : request.trailers()) text += "\ntrailer " + name + ": " + value;
  Headers headers;
  headers.add("Set-Cookie", "a=1");
  headers.add("Set-Cookie", "b=2");
  headers.add("Location", "http://elsewhere/");
  co_return co_await response.send(request.path() == "/moved" ? 302 : 200, std::move(headers), text);
}

TEST_F(PortsTest, WhatIsSentArrives) {
  http::TestServer sandbox(mirror);
  http::FetchRequest request;
  request.method = "DELETE";
  request.target = path(sandbox.port(), "/a%2Fb/../%zz?q=%00&q=+&&x");
  request.headers = {{"X-Many", "1"}, {"X-Many", "2"}, {"Host", "my.app:80"}, {"Authorization", "Bearer secret"},
                     {"Connection", "X-Hop"}, {"X-Hop", "no"}, {"Cookie", "c"}};
  request.body = "a body on DELETE";
  const auto answer = fetch(request);
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, StartsWith("DELETE /a%2Fb/../%zz?q=%00&q=+&&x\n"));
  EXPECT_THAT(answer.body, HasSubstr("X-Many: 1\nX-Many: 2\nHost: my.app:80\nCookie: c\n"));
  EXPECT_THAT(answer.body, HasSubstr("\n\na body on DELETE"));
  EXPECT_THAT(answer.body, Not(HasSubstr("secret")));
  EXPECT_THAT(answer.body, Not(HasSubstr("X-Hop")));
  EXPECT_THAT(answer.headers.get_all("Set-Cookie"), testing::ElementsAre("a=1", "b=2"));
}

TEST_F(PortsTest, AnyMethodAndNoRedirect) {
  http::TestServer sandbox(mirror);
  EXPECT_THAT(fetch({.method = "BREW", .target = path(sandbox.port(), "/x")}).body, StartsWith("BREW /x\n"));
  EXPECT_THAT(fetch({.method = "OPTIONS", .target = path(sandbox.port(), "")}).body, StartsWith("OPTIONS /\n"));
  const auto moved = fetch({.target = path(sandbox.port(), "/moved")});
  EXPECT_EQ(moved.status, 302);
  EXPECT_EQ(moved.headers.get("Location"), "http://elsewhere/");
}

TEST_F(PortsTest, TrailersGoBothWays) {
  http::TestServer sandbox([](Request& request, ResponseWriter& response) -> Task<Status> {
    HARENA_CO_TRY(const auto body, co_await request.read_all(100));
    HARENA_CO_TRY_STATUS(co_await response.begin(200, Headers()));
    HARENA_CO_TRY_STATUS(co_await response.write(body));
    Headers trailers;
    trailers.add("X-Back", std::string(request.trailers().get("X-There").value_or("lost")));
    co_return co_await response.finish(std::move(trailers));
  });
  http::RawClient client(api_->port());
  client.send("POST " + path(sandbox.port(), "/") + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
              "4\r\nbody\r\n0\r\nX-There: 1\r\n\r\n");
  const auto answer = client.read_answer();
  EXPECT_EQ(answer.body, "body");
  EXPECT_EQ(answer.trailers, "X-Back: 1\r\n");
}

TEST_F(PortsTest, ClosedPortsStoppedSandboxesAndBrokenMachinesDiffer) {
  std::uint16_t closed = 0;
  {
    http::TestServer gone(mirror);
    closed = gone.port();
  }
  const auto no_listener = fetch({.target = path(closed, "/")});
  EXPECT_EQ(no_listener.status, 502);
  EXPECT_THAT(no_listener.body, HasSubstr(R"("code":"unavailable")"));
  EXPECT_THAT(no_listener.body, HasSubstr(R"("reason":"port_closed")"));
  const auto stopped = fetch({.target = "/sandboxes/stopped/ports/80/"});
  EXPECT_EQ(stopped.status, 409);
  EXPECT_THAT(stopped.body, HasSubstr("failed_precondition"));
  EXPECT_EQ(fetch({.target = "/sandboxes/broken/ports/80/"}).status, 503);
  for (const auto* bad : {"0", "65536", "-1", "http", "80x"}) {
    const auto answer = fetch({.target = std::string("/sandboxes/a/ports/") + bad + "/"});
    EXPECT_EQ(answer.status, 400) << bad;
    EXPECT_THAT(answer.body, HasSubstr(bad));
  }
}

TEST_F(PortsTest, AServiceThatSpeaksNoHttpIsABadGateway) {
  for (const std::string answer : {"SSH-2.0-OpenSSH_9\r\n\r\n", "", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"}) {
    RawPort port(api_->io(), canned("\r\n\r\n", answer));
    const auto got = fetch({.target = path(port.port(), "/")});
    EXPECT_EQ(got.status, 502) << answer;
    EXPECT_THAT(got.body, HasSubstr(R"("reason":"bad_answer")"));
  }
}

TEST_F(PortsTest, AnswersOfAllFramingsArrive) {
  RawPort close(api_->io(), canned("\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\nuntil close"));
  EXPECT_EQ(fetch({.target = path(close.port(), "/")}).body, "until close");
  RawPort hints(api_->io(), canned("\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
                                               "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
  http::RawClient client(api_->port());
  client.send("GET " + path(hints.port(), "/") + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const auto all = client.read_to_end();
  EXPECT_THAT(all, StartsWith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(all, testing::EndsWith("\r\n\r\nok"));
  RawPort cut(api_->io(), canned("\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"));
  http::RawClient other(api_->port());
  other.send("GET " + path(cut.port(), "/") + " HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto half = other.read_to_end();
  EXPECT_THAT(half, testing::EndsWith("4\r\nhalf\r\n"));  // broken off, not ended
}

TEST_F(PortsTest, HeadKeepsTheLength) {
  RawPort port(api_->io(), canned("\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n"));
  const auto answer = fetch({.method = "HEAD", .target = path(port.port(), "/")});
  EXPECT_EQ(answer.headers.get("Content-Length"), "12345");
}

TEST_F(PortsTest, AnEarlyAnswerNeedsNoWholeBody) {
  RawPort port(api_->io(), canned("\r\n\r\n", "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nno!"));
  http::RawClient client(api_->port());
  client.send("POST " + path(port.port(), "/") + " HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\nfirst bytes");
  EXPECT_THAT(client.read_until("no!"), StartsWith("HTTP/1.1 413"));
}

TEST_F(PortsTest, ExpectContinueIsAnswered) {
  http::TestServer sandbox(mirror);
  http::RawClient client(api_->port());
  client.send("POST " + path(sandbox.port(), "/") + " HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("body");
  EXPECT_THAT(client.read_answer().body, testing::EndsWith("\n\nbody"));
}

TEST_F(PortsTest, WebSocketBytesPassAsTheyAre) {
  http::TestServer sandbox([](Request&, ResponseWriter& response) -> Task<Status> {
    http::WebSocketOptions options;
    options.protocols = {"chat"};
    HARENA_CO_TRY(auto socket, co_await response.accept_websocket(options));
    while (true) {
      HARENA_CO_TRY(auto message, co_await socket->receive());
      if (message.kind == http::WebSocketMessage::Kind::closed) co_return ok_status();
      HARENA_CO_TRY_STATUS(co_await socket->send_fragment(message.kind, message.data, false));
      HARENA_CO_TRY_STATUS(co_await socket->ping("p"));
      HARENA_CO_TRY_STATUS(co_await socket->send_fragment(message.kind, "!", true));
    }
  });
  auto talk = [](http::Endpoint api, std::string target) -> Task<std::string> {
    auto stream = co_await http::connect(api);
    http::WebSocketOptions options;
    options.protocols = {"other", "chat"};
    auto socket = co_await http::connect_websocket(std::move(*stream), target, Headers(), options);
    if (!socket.ok()) co_return socket.error().describe();
    const std::string binary("\0\xff", 2);
    EXPECT_TRUE((co_await (*socket)->send(http::WebSocketMessage::Kind::binary, binary)).ok());
    auto echoed = co_await (*socket)->receive();
    EXPECT_EQ(echoed->data, binary + "!");
    EXPECT_TRUE((co_await (*socket)->close(4001, "done")).ok());
    auto closed = co_await (*socket)->receive();
    co_return (*socket)->protocol() + " " + std::to_string(closed->close_code);
  };
  EXPECT_EQ(http::run_on(api_->io(), talk(api_->endpoint(), path(sandbox.port(), "/ws?x=y"))), "chat 4001");
}

TEST_F(PortsTest, ARefusedUpgradeIsAnAnswer) {
  http::TestServer sandbox(mirror);
  http::RawClient client(api_->port());
  client.send("GET " + path(sandbox.port(), "/") + " HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: odd\r\n\r\n");
  const auto answer = client.read_answer();
  EXPECT_THAT(answer.head, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer.body, HasSubstr("Upgrade: odd"));
}

TEST_F(PortsTest, RawTcpWithHalfClose) {
  std::string got;
  RawPort port(api_->io(), canned("never", "answer after end of file\0\xff", &got));
  http::RawClient client(api_->port());
  client.send("GET " + path(port.port(), "") + " HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
  EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr("101 Switching Protocols"));
  client.send(std::string(300000, 'r'));
  client.half_close();
  EXPECT_EQ(client.read_to_end(), "answer after end of file");
  EXPECT_EQ(got, std::string(300000, 'r'));
}

TEST_F(PortsTest, RawTcpToAClosedPortIsAnOrdinaryAnswer) {
  http::RawClient client(api_->port());
  client.send("GET /sandboxes/a/ports/1/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
  EXPECT_THAT(client.read_answer().head, StartsWith("HTTP/1.1 502"));
}

// 64 MiB to a client that starts reading late: all of it arrives, and meanwhile little is taken from the service.
TEST_F(PortsTest, ASlowReaderLosesNothing) {
  constexpr std::size_t kTotal = 64 << 20;
  std::atomic<std::size_t> written{0};
  http::TestServer sandbox([&](Request&, ResponseWriter& response) -> Task<Status> {
    HARENA_CO_TRY_STATUS(co_await response.begin(200, Headers()));
    std::string block(1 << 20, 'x');
    for (std::size_t i = 0; i < kTotal / block.size(); ++i) {
      block[0] = static_cast<char>('a' + i % 26);
      HARENA_CO_TRY_STATUS(co_await response.write(block));
      written += block.size();
    }
    co_return co_await response.finish();
  });
  http::RawClient client(api_->port(), 16 << 10);
  client.send("GET " + path(sandbox.port(), "/") + " HTTP/1.1\r\nHost: x\r\n\r\n");
  client.read_until("\r\n\r\n");
  for (std::size_t before = 1; before != written;) {
    before = written;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_LT(written, 32u << 20);
  std::size_t total = 0;
  for (auto line = client.read_until("\r\n"); line != "0\r\n" && !line.empty(); line = client.read_until("\r\n")) {
    const auto size = std::stoul(line, nullptr, 16);
    total += client.read_exactly(size).size();
    client.read_until("\r\n");
  }
  EXPECT_EQ(total, kTotal);
}

TEST_F(PortsTest, AClientThatLeavesClosesTheConnectionInside) {
  std::promise<bool> closed;
  RawPort port(api_->io(), [&](ByteStream& stream) -> Task<void> {
    std::vector<std::byte> block(1000);
    while (true) {
      auto count = co_await stream.read(block);
      if (count.ok() && *count > 0) continue;
      closed.set_value(true);
      co_return;
    }
  });
  http::RawClient client(api_->port());
  client.send("GET " + path(port.port(), "/") + " HTTP/1.1\r\nHost: x\r\n\r\n");
  client.close();
  auto seen = closed.get_future();
  EXPECT_EQ(seen.wait_for(std::chrono::seconds(5)), std::future_status::ready);
}

}  // namespace
}  // namespace harena
