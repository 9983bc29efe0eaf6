#include "core/telemetry/health_server.hpp"

#include <gtest/gtest.h>

#include "core/telemetry/exchange_metrics.hpp"
#include "core/telemetry/process_metrics.hpp"
#include "sdk/http/test_support.hpp"

namespace harena {
namespace {

using testing::HasSubstr;

class HealthServerTest : public testing::Test {
 protected:
  HealthServerTest() {
    HealthOptions options;
    options.port = 0;
    server_ = std::move(*HealthServer::start(io_, options, metrics_, readiness_));
  }
  http::FetchResponse get(std::string target) {
    http::FetchRequest request;
    request.target = std::move(target);
    return http::fetch(io_, http::Endpoint::tcp("127.0.0.1", server_->port()), request);
  }

  http::IoThreads io_{1};
  MetricsRegistry metrics_;
  Readiness readiness_;
  std::unique_ptr<HealthServer> server_;
};

TEST_F(HealthServerTest, ServesMetrics) {
  add_process_metrics(metrics_);
  metrics_.counter("harena_test_total", "A test.").only().add(3);
  const auto answer = get("/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.get("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(answer.body, HasSubstr("# TYPE harena_test_total counter\nharena_test_total 3\n"));
  EXPECT_THAT(answer.body, HasSubstr("process_open_fds "));
}

TEST_F(HealthServerTest, SaysWhatIsNotReady) {
  EXPECT_EQ(get("/healthz").body, "ok\n");
  EXPECT_EQ(get("/readyz").status, 200);
  bool store_works = false;
  readiness_.add("store", [&]() -> Status {
    if (store_works) return ok_status();
    return make_error(ErrorCode::unavailable, "the database is locked");
  });
  readiness_.add("throws", []() -> Status { throw std::runtime_error("odd"); });
  const auto answer = get("/readyz");
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, HasSubstr(R"j("store":"the database is locked (unavailable)")j"));
  EXPECT_THAT(answer.body, HasSubstr("odd"));
  store_works = true;
  readiness_.remove("throws");
  EXPECT_EQ(get("/readyz").body, R"({"failed":{},"ready":true})");
  EXPECT_EQ(get("/nothing").status, 404);
}

TEST(ExchangeMetrics, CountByRouteAndNotByPath) {
  MetricsRegistry metrics;
  http::Router router;
  http::Route route;
  route.method = "*";
  route.pattern = "/things/{id}";
  route.handler = [](http::Request&, http::ResponseWriter& response) -> http::Task<Status> {
    co_return co_await response.send(200, http::Headers(), "x");
  };
  ASSERT_TRUE(router.add(std::move(route)).ok());
  http::ServerOptions options;
  options.on_exchange = exchange_metrics(metrics, "api");
  {
    http::TestServer server(router.handler(), options);
    server.fetch({.target = "/things/1"});
    server.fetch({.method = "BREW", .target = "/things/2"});
    server.fetch({.target = "/elsewhere"});
  }
  const auto text = metrics.render();
  EXPECT_THAT(text, HasSubstr(R"(harena_http_requests_total{server="api",method="GET",route="/things/{id}",status="200"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"({server="api",method="other",route="/things/{id}",status="200"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"({server="api",method="GET",route="none",status="404"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(harena_http_request_seconds_count{server="api",route="/things/{id}"} 2)"));
}

}  // namespace
}  // namespace harena
