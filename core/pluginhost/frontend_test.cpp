// Frontends: the fake one, linked in, in front of a server as the API's.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/pluginhost/host_api.hpp"
#include "core/pluginhost/plugin_host.hpp"
#include "sdk/abi/plugin.h"
#include "sdk/http/test_support.hpp"

extern "C" const harena_plugin_descriptor* harena_plugin_entry_fake_frontend(void);

namespace harena {
namespace {

http::Task<Status> api(http::Request& request, http::ResponseWriter& response) {
  http::Headers headers;
  headers.add("X-Seen", std::string(request.header("Authorization").value_or("none")));
  HARENA_CO_TRY(const auto body, co_await request.read_all(1 << 20));
  const auto text = request.method() + " " + request.target() + " " + body;
  co_return co_await response.send(201, std::move(headers), text);
}

struct FrontendTest : testing::Test {
  FrontendTest() {
    options.static_plugins["fake-frontend"] = harena_plugin_entry_fake_frontend();
    options.plugins = {{"fake-frontend"}};
    options.services.service = [this](const auto& plugin, const auto& id) -> const void* {
      asked_by = plugin;
      return id == HostApi::kService ? host_api.table(plugin) : nullptr;
    };
    open();
  }
  void open() {
    host_api.open({.connect = [this] { return server.server().connect(); },
                   .act_for = [](const auto& plugin, const auto& id) -> Result<std::string> { return plugin + "/" + id; },
                   .secret = [](const auto&, const auto&) -> Result<std::string> { return make_error(ErrorCode::internal, "none"); }});
  }
  Frontend& load() {
    auto loaded = PluginHost::load(options);
    EXPECT_TRUE(loaded.ok()) << loaded.error().describe();
    host = std::move(*loaded);
    EXPECT_EQ(host->frontends().at(0).name, "fake-frontend");
    return *host->frontends().at(0).frontend;
  }
  http::FetchResponse ask(const std::string& url, http::FetchRequest request) {
    const auto port = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
    return http::fetch(server.io(), http::Endpoint::tcp("127.0.0.1", port), std::move(request));
  }

  http::TestServer server{api};
  HostApi host_api;
  PluginHostOptions options;
  std::unique_ptr<PluginHost> host;
  std::string asked_by;
};

TEST_F(FrontendTest, AsksTheApiInProcess) {
  auto& frontend = load();
  const auto listen = frontend.start({});
  ASSERT_TRUE(listen.ok()) << listen.error().describe();
  EXPECT_EQ(asked_by, "dev.harena.fake-frontend");
  http::FetchRequest request{.method = "POST", .target = "/v1/x?y=z", .headers = {}, .body = "hello"};
  request.headers.add("Authorization", "Bearer t");
  const auto answer = ask(listen->at(0), std::move(request));
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, "POST /v1/x?y=z hello");
  EXPECT_EQ(answer.headers.get("X-Seen"), "Bearer t");
  const auto samples = frontend.metrics({});
  ASSERT_EQ(samples->size(), 1u);
  EXPECT_EQ(samples->at(0).name, "harena_fake_frontend_requests_total");
  EXPECT_EQ(samples->at(0).value, 1);
  EXPECT_TRUE(frontend.drain({}).ok());
}

TEST_F(FrontendTest, StartsOnceAndDrainsAnyNumberOfTimes) {
  auto& frontend = load();
  EXPECT_TRUE(frontend.drain({}).ok());
  ASSERT_TRUE(frontend.start({}).ok());
  EXPECT_EQ(frontend.start({}).error().code, ErrorCode::failed_precondition);
  EXPECT_TRUE(frontend.drain({}).ok());
  EXPECT_TRUE(frontend.drain({}).ok());
  EXPECT_TRUE(frontend.start({}).ok());
}

TEST_F(FrontendTest, WithoutTheApiRequestsAreUnavailable) {
  auto& frontend = load();
  const auto listen = frontend.start({});
  ASSERT_TRUE(listen.ok());
  host_api.close();
  EXPECT_EQ(ask(listen->at(0), {.target = "/"}).status, 503);
  open();
  EXPECT_EQ(ask(listen->at(0), {.target = "/"}).status, 201);
}

TEST_F(FrontendTest, AnAddressThatIsTakenIsNamed) {
  options.plugins[0].config = {{"port", server.port()}};
  const auto refused = load().start({});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("127.0.0.1 port " + std::to_string(server.port())));
}

TEST_F(FrontendTest, AHostWithoutTheServiceIsToldSo) {
  options.services.service = nullptr;
  const auto refused = load().start({});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, testing::HasSubstr("harena.host.api/1"));
}

}  // namespace
}  // namespace harena
