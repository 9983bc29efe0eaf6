#include "sdk/http/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace harena::http {
namespace {

TEST(HttpError, RoundTrips) {
  auto error = infrastructure_error(ErrorCode::unavailable, "image-store", "can't reach it");
  error.context = {"inner", "outer"};
  const nlohmann::json details = {{"image", "root/base:v1"}};
  const auto body = error_body(error, details);
  const auto parsed = nlohmann::json::parse(body);
  EXPECT_EQ(parsed["error"]["code"], "unavailable");
  EXPECT_EQ(parsed["error"]["cause"], "infrastructure");
  EXPECT_EQ(parsed["error"]["retry"], "other_node");
  EXPECT_EQ(parsed["error"]["details"]["image"], "root/base:v1");
  const auto back = parse_error(503, body);
  EXPECT_EQ(back.code, error.code);
  EXPECT_EQ(back.message, error.message);
  EXPECT_EQ(back.cause, error.cause);
  EXPECT_EQ(back.cause_detail, "image-store");
  EXPECT_EQ(back.retry, error.retry);
  EXPECT_EQ(back.context, error.context);
}

TEST(HttpError, AsADocument) {
  auto error = make_error(ErrorCode::not_found, "no such thing");
  error.cause_detail = "thing";
  const auto document = error_document(error, {{"reason", "gone"}});
  EXPECT_EQ(document.dump(), error_body(error, {{"reason", "gone"}}));
  EXPECT_EQ(document["error"]["details"].dump(), R"({"cause_detail":"thing","reason":"gone"})");
  EXPECT_EQ(error_document(error)["error"]["details"].dump(), R"({"cause_detail":"thing"})");
}

TEST(HttpError, EveryCodeHasAnErrorStatus) {
  for (int code = 1; code <= 16; ++code) EXPECT_GE(http_status(static_cast<ErrorCode>(code)), 400) << code;
  EXPECT_EQ(http_status(ErrorCode::cancelled), 499);
  EXPECT_EQ(reason_phrase(404), "Not Found");
  EXPECT_EQ(reason_phrase(499), "Client Closed Request");
}

TEST(HttpError, ReadsAnswersOfOthers) {
  EXPECT_EQ(parse_error(502, "<html>Bad gateway</html>").code, ErrorCode::unavailable);
  EXPECT_THAT(parse_error(502, "<html>").message, testing::HasSubstr("502: <html>"));
  for (const auto* odd : {"", "[]", "null", R"({"error":"x"})", R"({"error":{"code":7}})", R"({"error":{"code":"ok"}})"}) {
    EXPECT_EQ(parse_error(404, odd).code, ErrorCode::not_found) << odd;
  }
}

TEST(HttpError, BytesThatAreNoTextDontBreakIt) {
  const auto body = error_body(make_error(ErrorCode::not_found, "no file '\xff\xfe'"));
  EXPECT_TRUE(nlohmann::json::accept(body));
}

}  // namespace
}  // namespace harena::http
