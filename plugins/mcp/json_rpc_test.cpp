#include "plugins/mcp/json_rpc.hpp"

#include <gtest/gtest.h>

namespace harena::mcp {
namespace {

TEST(JsonRpc, ARequestANotificationAndAResponse) {
  const auto request = parse_message(R"({"jsonrpc":"2.0","id":"a","method":"ping","params":{"x":"y"}})");
  ASSERT_TRUE(request.ok);
  EXPECT_TRUE(request.message.is_request());
  EXPECT_EQ(request.message.text("x"), "y");
  const auto notification = parse_message(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  ASSERT_TRUE(notification.ok);
  EXPECT_FALSE(notification.message.is_request());
  EXPECT_TRUE(parse_message(R"({"jsonrpc":"2.0","id":1,"result":{}})").message.method.empty());
}

struct Wrong {
  const char* body;
  int code;
};

TEST(JsonRpc, WhatIsWrongIsTold) {
  const std::string nested = std::string(100, '[') + std::string(100, ']');
  const std::string deep = R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"a":)" + nested + "}}";
  const Wrong cases[] = {{"", kParseError},
                         {"{", kParseError},
                         {deep.c_str(), kParseError},
                         {"[]", kInvalidRequest},
                         {"[{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]", kInvalidRequest},
                         {"7", kInvalidRequest},
                         {R"({"id":1,"method":"m"})", kInvalidRequest},
                         {R"({"jsonrpc":"2.0","id":null,"method":"m"})", kInvalidRequest},
                         {R"({"jsonrpc":"2.0","id":1.5,"method":"m"})", kInvalidRequest},
                         {R"({"jsonrpc":"2.0","id":{},"method":"m"})", kInvalidRequest},
                         {R"({"jsonrpc":"2.0","id":1})", kInvalidRequest},
                         {R"({"jsonrpc":"2.0","id":1,"method":""})", kInvalidRequest},
                         {R"({"jsonrpc":"2.0","id":1,"method":"m","params":[1]})", kInvalidRequest}};
  for (const auto& one : cases) {
    const auto parsed = parse_message(one.body);
    EXPECT_FALSE(parsed.ok) << one.body;
    EXPECT_EQ(parsed.error.code, one.code) << one.body;
  }
  EXPECT_EQ(parse_message(R"({"jsonrpc":"1.0","id":9,"method":"m"})").message.id, 9) << "the error answers the request";
}

TEST(JsonRpc, BytesThatAreNotTextAreReplaced) { EXPECT_EQ(dump("a\xff"), "\"a\xEF\xBF\xBD\""); }

TEST(JsonRpc, ErrorsHaveTheirStatus) {
  EXPECT_EQ(status_of(kMethodNotFound), 404);
  EXPECT_EQ(status_of(kInvalidParams), 400);
  EXPECT_EQ(status_of(kInternalError), 200);
}

}  // namespace
}  // namespace harena::mcp
