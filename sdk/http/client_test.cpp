#include "sdk/http/client.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "sdk/http/memory_pipe.hpp"
#include "sdk/http/router.hpp"
#include "sdk/http/test_support.hpp"

namespace harena::http {
namespace {

namespace asio = boost::asio;
using testing::HasSubstr;

Task<Status> echo(Request& request, ResponseWriter& response) {
  Headers headers;
  headers.add("X-Method", request.method());
  headers.add("X-Target", request.target());
  HARENA_CO_TRY(const auto body, co_await request.read_all(1 << 20));
  co_return co_await response.send(request.path() == "/moved" ? 302 : 200, std::move(headers), body);
}

TEST(Client, SendsAndReceives) {
  TestServer server(echo);
  const auto answer = server.fetch({.method = "DELETE", .target = "/a%2Fb?c=%00", .body = "with a body"});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.get("X-Method"), "DELETE");
  EXPECT_EQ(answer.headers.get("X-Target"), "/a%2Fb?c=%00");
  EXPECT_EQ(answer.body, "with a body");
}

TEST(Client, FollowsNoRedirects) {
  TestServer server(echo);
  EXPECT_EQ(server.fetch({.target = "/moved"}).status, 302);
}

TEST(Client, RefusesWhatCantGoOnAWire) {
  IoThreads io(1);
  auto send = [](ClientHead head) -> Task<Status> {
    auto [ours, theirs] = memory_pipe();
    ClientConnection connection(std::move(ours));
    co_return co_await connection.send_head(std::move(head));
  };
  EXPECT_FALSE(run_on(io, send({.method = "GE T"})).ok());
  EXPECT_FALSE(run_on(io, send({.target = "/a b"})).ok());
  EXPECT_FALSE(run_on(io, send({.target = "/a\r\nX: y"})).ok());
  EXPECT_FALSE(run_on(io, send({.headers = {{"A", "b\nc"}}})).ok());
  EXPECT_TRUE(run_on(io, send({})).ok());
}

TEST(Client, KeepsConnectionsAndReplacesDeadOnes) {
  ServerOptions options;
  options.idle_timeout = std::chrono::milliseconds(50);
  TestServer server(echo, options);
  auto twice = [](Endpoint endpoint, Server& watched) -> Task<int> {
    Client client({.endpoint = std::move(endpoint)});
    int good = 0;
    for (int i = 0; i < 3; ++i) {
      FetchRequest request;
      auto answer = co_await client.fetch(std::move(request));
      good += answer.ok() && answer->status == 200;
    }
    EXPECT_EQ(watched.connections(), 1u);  // one for all three
    while (watched.connections() != 0) co_await sleep_for(std::chrono::milliseconds(5));
    FetchRequest request;
    auto answer = co_await client.fetch(std::move(request));  // the kept connection is dead by now
    co_return good + (answer.ok() && answer->status == 200);
  };
  EXPECT_EQ(run_on(server.io(), twice(server.endpoint(), server.server())), 4);
}

TEST(Client, LimitsTheAnswer) {
  TestServer server(echo);
  auto ask = [](Endpoint endpoint) -> Task<ErrorCode> {
    ClientOptions options;
    options.endpoint = std::move(endpoint);
    options.max_body_bytes = 10;
    Client client(options);
    FetchRequest request;
    request.method = "POST";
    request.body = "more than ten bytes";
    auto answer = co_await client.fetch(std::move(request));
    co_return answer.ok() ? ErrorCode::ok : answer.error().code;
  };
  EXPECT_EQ(run_on(server.io(), ask(server.endpoint())), ErrorCode::resource_exhausted);
}

// What a server says, read by our client.
Task<std::string> read_from(std::string bytes, std::string method) {
  auto [ours, theirs] = memory_pipe(1 << 16);
  ClientConnection connection(std::move(ours));
  ClientHead head;
  head.method = std::move(method);
  EXPECT_TRUE((co_await connection.send_head(std::move(head))).ok());
  EXPECT_TRUE((co_await theirs->write(std::string_view(bytes))).ok());
  EXPECT_TRUE((co_await theirs->shutdown_write()).ok());
  auto answer = co_await connection.read_head();
  if (!answer.ok()) co_return std::string(to_string(answer.error().code));
  auto body = co_await connection.read_all(1000);
  if (!body.ok()) co_return "body: " + std::string(to_string(body.error().code));
  co_return std::to_string(answer->status) + " " + *body + (connection.reusable() ? " again" : "");
}

TEST(Client, ReadsAnswersOfAllShapes) {
  IoThreads io(1);
  const auto read = [&](std::string bytes, std::string method = "GET") { return run_on(io, read_from(bytes, method)); };
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), "200 ok again");
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\n\r\nuntil the end"), "200 until the end");
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"), "200 ok again");
  EXPECT_EQ(read("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"), "204  again");
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n", "HEAD"), "200  again");
  EXPECT_EQ(read("HTTP/1.1 304 Not Modified\r\nContent-Length: 20\r\n\r\n"), "304  again");
  EXPECT_EQ(read("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"), "200 ok");
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"), "200 ok");
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok"), "body: unavailable");
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nok"), "invalid_argument");
  EXPECT_EQ(read("SSH-2.0-OpenSSH\r\n\r\n"), "invalid_argument");
  EXPECT_EQ(read(""), "unavailable");
}

// Streams both ways at once: what is written comes back before the request has ended.
TEST(Client, StreamsBothWaysAtOnce) {
  TestServer server([](Request& request, ResponseWriter& response) -> Task<Status> {
    HARENA_CO_TRY_STATUS(co_await response.begin(200, Headers()));
    std::vector<std::byte> block(4096);
    while (true) {
      HARENA_CO_TRY(const std::size_t count, co_await request.read(block));
      if (count == 0) break;
      HARENA_CO_TRY_STATUS(co_await response.write(std::span<const std::byte>(block).first(count)));
    }
    co_return co_await response.finish(request.trailers());
  });
  auto talk = [](Endpoint endpoint) -> Task<std::string> {
    auto stream = co_await connect(endpoint);
    ClientConnection connection(std::move(*stream));
    ClientHead head;
    head.method = "POST";
    head.headers.add("Host", "x");
    head.body = BodyKind::chunked;
    EXPECT_TRUE((co_await connection.send_head(std::move(head))).ok());
    auto answer = co_await connection.read_head();
    std::vector<std::byte> block(100);
    std::string got;
    for (const std::string_view part : {"one", "two", "three"}) {
      EXPECT_TRUE((co_await connection.write_body(std::as_bytes(std::span(part)))).ok());
      auto count = co_await connection.read_body(block);
      got += std::string(reinterpret_cast<const char*>(block.data()), *count) + " ";
    }
    Headers trailers;
    trailers.add("X-End", "yes");
    EXPECT_TRUE((co_await connection.finish_body(trailers)).ok());
    auto end = co_await connection.read_body(block);
    EXPECT_EQ(*end, 0u);
    got += std::string(connection.trailers().get("X-End").value_or("no trailer"));
    co_return got + (connection.reusable() ? " reusable" : "");
  };
  EXPECT_EQ(run_on(server.io(), talk(server.endpoint())), "one two three yes reusable");
}

TEST(Client, UpgradesToRawBytes) {
  TestServer server([](Request& request, ResponseWriter& response) -> Task<Status> {
    EXPECT_TRUE(request.headers().has_token("Connection", "upgrade"));
    HARENA_CO_TRY(auto stream, co_await response.upgrade("tcp", Headers()));
    HARENA_CO_TRY_STATUS(co_await stream->write("hi "));
    HARENA_CO_TRY(const auto copied, co_await copy_until_eof(*stream, *stream));
    EXPECT_EQ(copied, 5u);
    co_return ok_status();
  });
  RawClient client(server.port());
  // The first bytes of the stream arrive together with the request.
  client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n\x01\x02");
  EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr("101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"));
  client.send("abc");
  client.half_close();
  EXPECT_EQ(client.read_to_end(), "hi \x01\x02" "abc");
}

// ---- TLS ----

class Tls : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / ("harena_tls_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    const auto command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=test "
                         "-addext subjectAltName=IP:127.0.0.1 -keyout " + (folder_ / "key.pem").string() + " -out " +
                         (folder_ / "cert.pem").string() + " 2>/dev/null";
    if (std::system(command.c_str()) != 0) GTEST_SKIP() << "this host lacks the openssl command, which makes the certificate";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  ServerOptions options() {
    ServerOptions made;
    auto context = TlsContext::for_server({folder_ / "cert.pem", folder_ / "key.pem", std::nullopt});
    made.tcp = {{"127.0.0.1", 0, *context}};
    return made;
  }
  Endpoint endpoint(std::uint16_t port, std::string host) {
    Endpoint to = Endpoint::tcp(std::move(host), port);
    TlsClientOptions trust;
    trust.ca_file = folder_ / "cert.pem";
    to.tls = *TlsContext::for_client(trust);
    return to;
  }
  std::filesystem::path folder_;
};

TEST_F(Tls, CarriesRequests) {
  TestServer server(echo, options());
  FetchRequest request;
  request.method = "POST";
  request.body = std::string(1 << 20, 'x');
  EXPECT_EQ(fetch(server.io(), endpoint(server.port(), "127.0.0.1"), request).body, request.body);
}

TEST_F(Tls, HalfCloses) {
  TestServer server(
      [](Request&, ResponseWriter& response) -> Task<Status> {
        HARENA_CO_TRY(auto stream, co_await response.upgrade("tcp", Headers()));
        HARENA_CO_TRY_STATUS(co_await copy_until_eof(*stream, *stream));
        co_return ok_status();
      },
      options());
  auto talk = [](Endpoint to) -> Task<std::string> {
    auto connected = co_await connect(to);
    if (!connected.ok()) co_return connected.error().describe();
    ClientConnection connection(std::move(*connected));
    ClientHead head;
    head.headers.add("Host", "x");
    EXPECT_TRUE((co_await connection.send_head(std::move(head))).ok());
    auto answer = co_await connection.read_head();
    auto stream = connection.take_stream();
    EXPECT_TRUE((co_await stream->write("echo me")).ok());
    EXPECT_TRUE((co_await stream->shutdown_write()).ok());
    std::string got;
    std::vector<std::byte> block(100);
    while (true) {
      auto count = co_await stream->read(block);
      if (!count.ok() || *count == 0) co_return count.ok() ? got : count.error().describe();
      got.append(reinterpret_cast<const char*>(block.data()), *count);
    }
  };
  EXPECT_EQ(run_on(server.io(), talk(endpoint(server.port(), "127.0.0.1"))), "echo me");
}

TEST_F(Tls, RefusesStrangersAndNamesBadFiles) {
  TestServer server(echo, options());
  Endpoint untrusting = Endpoint::tcp("127.0.0.1", server.port());
  untrusting.tls = *TlsContext::for_client({});
  EXPECT_EQ(run_on(server.io(), connect(untrusting)).error().code, ErrorCode::unauthenticated);
  EXPECT_EQ(run_on(server.io(), connect(endpoint(server.port(), "localhost"))).error().code, ErrorCode::unauthenticated);
  const auto bad = TlsContext::for_server({folder_ / "missing.pem", folder_ / "key.pem", std::nullopt});
  ASSERT_FALSE(bad.ok());
  EXPECT_THAT(bad.error().message, HasSubstr("missing.pem"));
  RawClient plain(server.port());
  plain.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(plain.read_to_end().find("HTTP/1.1 200"), std::string::npos);
}

}  // namespace
}  // namespace harena::http
