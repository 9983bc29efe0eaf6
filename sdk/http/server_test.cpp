#include "sdk/http/server.hpp"

#include <gtest/gtest.h>

#include "sdk/http/client.hpp"
#include "sdk/http/router.hpp"
#include "sdk/http/test_support.hpp"

namespace harena::http {
namespace {

using testing::HasSubstr;

Task<Status> hello(Request&, ResponseWriter& response) {
  Headers headers;
  headers.add("Content-Type", "text/plain");
  co_return co_await response.send(200, std::move(headers), "hello");
}

TEST(Server, AnswersAndKeepsTheConnection) {
  TestServer server(hello);
  RawClient client(server.port());
  for (int i = 0; i < 3; ++i) {
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    const auto answer = client.read_answer();
    EXPECT_THAT(answer.head, HasSubstr("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(answer.head, HasSubstr("Date: "));
    EXPECT_EQ(answer.body, "hello");
  }
}

TEST(Server, AnswersPipelinedRequestsInOrder) {
  TestServer server([](Request& request, ResponseWriter& response) -> Task<Status> {
    const std::string path(request.path());
    co_return co_await response.send(200, Headers(), path);
  });
  RawClient client(server.port());
  std::string all;
  for (int i = 0; i < 500; ++i) all += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n";
  client.send(all);
  for (int i = 0; i < 500; ++i) EXPECT_EQ(client.read_answer().body, "/" + std::to_string(i));
}

Task<Status> echo(Request& request, ResponseWriter& response) {
  HARENA_CO_TRY_STATUS(co_await response.begin(200, Headers()));
  std::vector<std::byte> block(1000);
  while (true) {
    HARENA_CO_TRY(const std::size_t count, co_await request.read(block));
    if (count == 0) break;
    HARENA_CO_TRY_STATUS(co_await response.write(std::span<const std::byte>(block).first(count)));
  }
  co_return co_await response.finish(request.trailers());
}

TEST(Server, EchoesChunksAndTrailers) {
  TestServer server(echo);
  RawClient client(server.port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
              "3\r\nabc\r\n4;ext=1\r\ndefg\r\n0\r\nX-Sum: 7\r\n\r\n");
  const auto answer = client.read_answer();
  EXPECT_EQ(answer.body, "abcdefg");
  EXPECT_THAT(answer.trailers, HasSubstr("X-Sum: 7\r\n"));
  client.send("DELETE /x HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_EQ(client.read_answer().body, "ok");
}

TEST(Server, AnErrorBecomesItsAnswer) {
  TestServer server([](Request&, ResponseWriter&) -> Task<Status> {
    co_return make_error(ErrorCode::not_found, "no sandbox 'x'");
  });
  const auto answer = server.fetch({.target = "/v1/sandboxes/x"});
  EXPECT_EQ(answer.status, 404);
  EXPECT_THAT(answer.body, HasSubstr(R"("message":"no sandbox 'x'")"));
}

TEST(Server, AnExceptionOrNoAnswerIsInternal) {
  TestServer server([](Request& request, ResponseWriter&) -> Task<Status> {
    if (request.path() == "/throw") throw std::runtime_error("boom");
    co_return ok_status();
  });
  EXPECT_EQ(server.fetch({.target = "/throw"}).status, 500);
  EXPECT_EQ(server.fetch({.target = "/nothing"}).status, 500);
}

TEST(Server, BreaksOffAnUnfinishedAnswer) {
  TestServer server([](Request&, ResponseWriter& response) -> Task<Status> {
    HARENA_CO_TRY_STATUS(co_await response.begin(200, Headers()));
    HARENA_CO_TRY_STATUS(co_await response.write("part"));
    co_return make_error(ErrorCode::internal, "broke");
  });
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto all = client.read_to_end();
  EXPECT_THAT(all, HasSubstr("4\r\npart\r\n"));
  EXPECT_EQ(all.find("\r\n0\r\n"), std::string::npos);
}

Task<Status> together(Request& request, ResponseWriter& response) {
  const auto length = request.path() == "/length" ? std::optional<std::uint64_t>(11) : std::nullopt;
  const std::string first(request.path() == "/late" ? "" : "hello ");
  HARENA_CO_TRY_STATUS(co_await response.begin_with(200, Headers(), length, std::as_bytes(std::span(first))));
  const std::string_view last = request.path() == "/long" ? "" : "world";
  co_return co_await response.finish_with(std::as_bytes(std::span(last)));
}

TEST(Server, HeadAndFirstBytesLastBytesAndEndAreTheSameAnswer) {
  TestServer server(together);
  EXPECT_EQ(server.fetch({.target = "/"}).body, "hello world");
  EXPECT_EQ(server.fetch({.target = "/late"}).body, "world");
  EXPECT_EQ(server.fetch({.target = "/long"}).body, "hello ");
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /length HTTP/1.1\r\nHost: x\r\n\r\nHEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const auto all = client.read_to_end();
  EXPECT_THAT(all, HasSubstr("\r\n\r\n6\r\nhello \r\n5\r\nworld\r\n0\r\n\r\n"));
  EXPECT_THAT(all, HasSubstr("\r\n\r\nhello world"));
  EXPECT_TRUE(all.ends_with("\r\n\r\n") && all.rfind("HTTP/1.1 200") > all.find("hello world")) << "HEAD has no body";
}

TEST(Server, AnAnswerOfALengthIsHeldToItWhicheverWayItEnds) {
  TestServer server([](Request& request, ResponseWriter& response) -> Task<Status> {
    const std::string four("four");
    HARENA_CO_TRY_STATUS(co_await response.begin_with(200, Headers(), 5, std::as_bytes(std::span(four))));
    const auto last = four.substr(0, request.path() == "/short" ? 0 : 2);
    co_return co_await response.finish_with(std::as_bytes(std::span(last)));
  });
  for (const auto* target : {"/short", "/long"}) {
    RawClient client(server.port());
    client.send("GET " + std::string(target) + " HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_TRUE(client.read_to_end().ends_with("\r\n\r\nfour")) << target;  // cut off: never a whole answer
  }
}

TEST(Server, HeadHasALengthAndNoBody) {
  TestServer server(hello);
  RawClient client(server.port());
  client.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.0\r\n\r\n");
  const auto all = client.read_to_end();
  EXPECT_THAT(all, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_EQ(all.find("hello"), all.size() - 5);
}

TEST(Server, ContinuesWhenAsked) {
  TestServer server(echo);
  RawClient client(server.port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  // echo begins its answer first, which says that no 100 will come; a handler that reads first sends it
  TestServer reader([](Request& request, ResponseWriter& response) -> Task<Status> {
    HARENA_CO_TRY(const auto body, co_await request.read_all(10));
    co_return co_await response.send(200, Headers(), body);
  });
  RawClient polite(reader.port());
  polite.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(polite.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  polite.send("hi");
  EXPECT_EQ(polite.read_answer().body, "hi");
}

TEST(Server, LimitsWhatReadAllTakes) {
  TestServer server([](Request& request, ResponseWriter& response) -> Task<Status> {
    HARENA_CO_TRY(const auto body, co_await request.read_all(10));
    co_return co_await response.send(200, Headers(), body);
  });
  EXPECT_EQ(server.fetch({.method = "POST", .body = "0123456789"}).status, 200);
  EXPECT_EQ(server.fetch({.method = "POST", .body = "0123456789a"}).status, 429);
}

TEST(Server, ListensOnUnixSockets) {
  const auto path = std::filesystem::path(testing::TempDir()) / ("harena_http_" + std::to_string(::getpid()));
  IoThreads io(1);
  ServerOptions options;
  options.unix_sockets = {{path, 0600}};
  auto server = Server::start(io, options, hello);
  ASSERT_TRUE(server.ok());
  auto second = Server::start(io, options, hello);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::already_exists);
  const auto answer = fetch(io, Endpoint::local(path), {});
  EXPECT_EQ(answer.body, "hello");
  server->reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Server, NamesABadAddress) {
  IoThreads io(1);
  ServerOptions options;
  options.tcp = {{"localhost", 0, nullptr}};
  const auto server = Server::start(io, options, hello);
  ASSERT_FALSE(server.ok());
  EXPECT_THAT(server.error().message, HasSubstr("'localhost' is no IP address"));
}

}  // namespace
}  // namespace harena::http
