#include "sdk/http/router.hpp"

#include <gtest/gtest.h>

#include "sdk/http/test_support.hpp"

namespace harena::http {
namespace {

using testing::HasSubstr;

// Says which route it was and with what.
Handler says(std::string name, std::vector<std::string> parameters = {}) {
  return [name, parameters](Request& request, ResponseWriter& response) -> Task<Status> {
    auto text = name;
    for (const auto& parameter : parameters) text += "|" + request.param(parameter);
    co_return co_await response.send(200, Headers(), text);
  };
}

class RouterTest : public testing::Test {
 protected:
  RouterTest() {
    add("GET", "/v1/sandboxes", says("list"));
    add("POST", "/v1/sandboxes", says("create"));
    add("GET", "/v1/sandboxes/{id}", says("get", {"id"}));
    add("GET", "/v1/sandboxes/special", says("special"));
    add("DELETE", "/v1/sandboxes/{id}", says("delete", {"id"}));
    add("*", "/v1/sandboxes/{id}/ports/{port}/{*rest}", says("proxy", {"id", "port", "rest"}));
    add("GET", "/v1/sandboxes/{id}/ports/{port}/tcp", says("tcp", {"port"}));
  }
  void add(std::string method, std::string pattern, Handler handler) {
    RouteInfo info;
    info.operation_id = pattern;
    const auto status = router_.add({std::move(method), std::move(pattern), info, std::move(handler)});
    ASSERT_TRUE(status.ok());
  }
  FetchResponse ask(std::string method, std::string target) {
    if (!server_) server_ = std::make_unique<TestServer>(router_.handler());
    FetchRequest request;
    request.method = std::move(method);
    request.target = std::move(target);
    return server_->fetch(request);
  }
  std::string body(std::string method, std::string target) { return ask(std::move(method), std::move(target)).body; }

  Router router_;
  std::unique_ptr<TestServer> server_;
};

TEST_F(RouterTest, FindsLiteralsParametersAndTheRest) {
  EXPECT_EQ(body("GET", "/v1/sandboxes?x=y"), "list");
  EXPECT_EQ(body("POST", "/v1/sandboxes"), "create");
  EXPECT_EQ(body("GET", "/v1/sandboxes/abc"), "get|abc");
  EXPECT_EQ(body("GET", "/v1/sandboxes/a%2Fb%20c"), "get|a/b c");
  EXPECT_EQ(body("GET", "/v1/sandboxes/special"), "special");
  EXPECT_EQ(body("DELETE", "/v1/sandboxes/special2"), "delete|special2");
  EXPECT_EQ(body("GET", "/v1/sandboxes/a/ports/80/tcp"), "tcp|80");
  EXPECT_EQ(body("GET", "/v1/sandboxes/a/ports/80/tcp/x"), "proxy|a|80|tcp/x");
  EXPECT_EQ(body("BREW", "/v1/sandboxes/a/ports/80/%2e%2e//x%2Fy?q"), "proxy|a|80|%2e%2e//x%2Fy");
  EXPECT_EQ(body("GET", "/v1/sandboxes/a/ports/80/"), "proxy|a|80|");
  EXPECT_EQ(body("GET", "/v1/sandboxes/a/ports/80"), "proxy|a|80|");
  EXPECT_EQ(body("GET", "/v1/sandboxes/a/ports/80/100%"), "proxy|a|80|100%");
}

TEST_F(RouterTest, HeadFallsBackToGet) { EXPECT_EQ(ask("HEAD", "/v1/sandboxes/abc").status, 200); }

TEST_F(RouterTest, SaysWhatIsWrong) {
  EXPECT_EQ(ask("GET", "/v2/nothing").status, 404);
  EXPECT_THAT(body("GET", "/v2/nothing"), HasSubstr("/v2/nothing"));
  EXPECT_EQ(ask("GET", "/v1/sandboxes/").status, 404);
  EXPECT_EQ(ask("GET", "/v1/sandboxes/%zz").status, 400);
  const auto wrong = ask("PUT", "/v1/sandboxes/abc");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.headers.get("Allow"), "DELETE, GET, HEAD");
}

TEST_F(RouterTest, RefusesBadPatterns) {
  EXPECT_EQ(router_.add({"GET", "/v1/sandboxes", {}, says("x")}).error().code, ErrorCode::already_exists);
  for (const auto* bad : {"", "v1", "/{*rest}/x", "/{}", "/{a", "/v1/sandboxes/{name}"}) {
    EXPECT_EQ(router_.add({"GET", bad, {}, says("x")}).error().code, ErrorCode::invalid_argument) << bad;
  }
}

TEST_F(RouterTest, CanBeEnumerated) {
  EXPECT_EQ(router_.routes().size(), 7u);
  EXPECT_EQ(router_.routes()[2].info.operation_id, "/v1/sandboxes/{id}");
}

}  // namespace
}  // namespace harena::http
