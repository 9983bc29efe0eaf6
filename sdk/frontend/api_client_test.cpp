// The client against a real server behind the C table of harena.host.api/1, as the core makes it.

#include "sdk/frontend/api_client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sdk/http/router.hpp"
#include "sdk/http/test_support.hpp"

namespace harena::frontend {
namespace {

using http::Request;
using http::ResponseWriter;
using http::Task;

Task<Status> answer(Request& request, ResponseWriter& response) {
  if (request.path() == "/echo") {
    http::Headers headers;
    headers.add("X-Seen", std::string(request.header("Authorization").value_or("none")));
    HARENA_CO_TRY(const auto body, co_await request.read_all(1 << 20));
    co_return co_await response.send(200, std::move(headers), body);
  }
  if (request.path() == "/upgrade") {
    http::Headers none;
    HARENA_CO_TRY(auto stream, co_await response.upgrade("tcp", std::move(none)));
    HARENA_CO_TRY_STATUS(co_await http::copy_until_eof(*stream, *stream));
    co_return ok_status();
  }
  if (request.path() == "/json") {
    const nlohmann::json body = {{"peer", request.peer()}};
    co_return co_await response.send_json(200, body);
  }
  co_return make_error(ErrorCode::not_found, "there is no " + std::string(request.path()));
}

class ApiClientTest : public testing::Test {
 protected:
  ApiClientTest() {
    table_ = {sizeof(table_), 0, this, &connect, &about, &about};
    record_ = {sizeof(record_), this, nullptr, nullptr, &service};
    auto made = ApiClient::make(plugin::Host(&record_));
    EXPECT_TRUE(made.ok());
    api = *made;
  }
  template <class T>
  T run(Task<T> task) { return http::run_on(io, std::move(task)); }

  static const void* service(void* self, harena_str id) {
    return plugin::to_view(id) == HARENA_HOST_API_SERVICE ? &static_cast<ApiClientTest*>(self)->table_ : nullptr;
  }
  static harena_status connect(void* self, const harena_call* call, int* out) {
    auto& test = *static_cast<ApiClientTest*>(self);
    ++test.connections;
    if (test.down) {
      harena_error error{};
      error.struct_size = sizeof(error);
      error.code = HARENA_UNAVAILABLE;
      error.message = plugin::to_abi("it isn't up");
      call->sink->error(call->sink->context, &error);
      return HARENA_UNAVAILABLE;
    }
    auto made = test.server.server().connect();
    if (!made.ok()) return HARENA_INTERNAL;
    *out = made->release();
    return HARENA_OK;
  }

  static harena_status about(void*, const harena_call* call, harena_str what) {
    const std::string text = nlohmann::json{{"token", "for " + std::string(plugin::to_view(what))}}.dump();
    call->sink->result(call->sink->context, plugin::to_abi(text));
    return HARENA_OK;
  }

  http::TestServer server{answer};
  harena_host_api table_{};
  harena_host record_{};
  std::atomic<int> connections{0};
  bool down = false;
  http::IoThreads io{1};
  std::shared_ptr<ApiClient> api;
};

TEST_F(ApiClientTest, CarriesTheCredentialAndTheBody) {
  ApiRequest request{.method = "POST", .target = "/echo", .token = "tok", .text = "hello"};
  const auto response = run(api->fetch(std::move(request)));
  ASSERT_TRUE(response.ok()) << response.error().describe();
  EXPECT_EQ(response->body, "hello");
  EXPECT_EQ(response->headers.get("X-Seen"), "Bearer tok");
}

TEST_F(ApiClientTest, KeepsConnections) {
  for (int i = 0; i < 5; ++i) {
    ApiRequest request{.method = "GET", .target = "/echo"};
    ASSERT_TRUE(run(api->fetch(std::move(request))).ok());
  }
  EXPECT_EQ(connections, 1);
}

TEST_F(ApiClientTest, AsksInJsonAndGetsTheErrorsOfTheApi) {
  const auto good = run(api->ask("GET", "/json", "t"));
  ASSERT_TRUE(good.ok());
  EXPECT_EQ((*good)["peer"], "unix");
  const auto bad = run(api->ask("GET", "/nothing", "t"));
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code, ErrorCode::not_found);
  EXPECT_EQ(bad.error().message, "there is no /nothing");
}

TEST_F(ApiClientTest, StreamsBodies) {
  auto task = [this]() -> Task<Result<std::string>> {
    ApiRequest request{.method = "PUT", .target = "/echo", .token = "t", .body = http::BodyKind::chunked};
    HARENA_CO_TRY(const auto exchange, co_await api->send(std::move(request)));
    HARENA_CO_TRY_STATUS(co_await exchange->write_body("one "));
    HARENA_CO_TRY_STATUS(co_await exchange->write_body("two"));
    HARENA_CO_TRY_STATUS(co_await exchange->finish_body());
    HARENA_CO_TRY(const auto head, co_await exchange->read_head());
    co_return co_await exchange->read_all(1000);
  };
  const auto text = run(task());
  ASSERT_TRUE(text.ok()) << text.error().describe();
  EXPECT_EQ(*text, "one two");
}

TEST_F(ApiClientTest, HandsUpgradesOver) {
  auto task = [this]() -> Task<Result<std::string>> {
    ApiRequest request{.method = "GET", .target = "/upgrade"};
    request.headers.add("Connection", "Upgrade");
    request.headers.add("Upgrade", "tcp");
    HARENA_CO_TRY(const auto exchange, co_await api->send(std::move(request)));
    HARENA_CO_TRY(const auto head, co_await exchange->read_head());
    if (head.status != 101) co_return make_error(ErrorCode::internal, std::to_string(head.status));
    const auto stream = exchange->take_stream();
    HARENA_CO_TRY_STATUS(co_await stream->write("ping"));
    HARENA_CO_TRY_STATUS(co_await stream->shutdown_write());
    std::string text(16, '\0');
    HARENA_CO_TRY(const auto count, co_await stream->read(std::as_writable_bytes(std::span(text))));
    co_return text.substr(0, count);
  };
  const auto text = run(task());
  ASSERT_TRUE(text.ok()) << text.error().describe();
  EXPECT_EQ(*text, "ping");
}

TEST_F(ApiClientTest, SaysWhyThereIsNoApi) {
  down = true;
  const auto refused = run(api->ask("GET", "/json", "t"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_EQ(refused.error().message, "it isn't up");
}

TEST_F(ApiClientTest, AServerThatIsBeingStoppedRefusesConnections) {
  server.server().stop(std::chrono::milliseconds(0));
  const auto refused = server.server().connect();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
}

TEST_F(ApiClientTest, GetsCredentialsForSandboxes) {
  EXPECT_EQ(*api->host().act_for("abc"), "for abc");
  EXPECT_EQ(api->host().secret("x").error().code, ErrorCode::internal);  // the double answers no secret
}

TEST(ApiClientAlone, NeedsAHostWithAnApi) {
  const auto made = ApiClient::make(plugin::Host(nullptr));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::failed_precondition);
}

}  // namespace
}  // namespace harena::frontend
