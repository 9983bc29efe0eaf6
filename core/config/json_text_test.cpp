#include "core/config/json_text.hpp"

#include <gtest/gtest.h>

namespace harena {
namespace {

std::string refusal(const std::string& text) {
  const auto parsed = parse_commented_json(text);
  return parsed ? "(accepted)" : parsed.error().message;
}

TEST(JsonText, CommentsAreAllowed) {
  EXPECT_EQ(parse_commented_json("// a\n{\"a\": /* b */ 1}").value(), nlohmann::json({{"a", 1}}));
}

TEST(JsonText, DuplicatesAreNamedWithTheirPath) {
  EXPECT_EQ(refusal(R"({"a":1,"a":2})"), "the key a is there twice; keep one of them");
  EXPECT_EQ(refusal(R"({"a":{"b":[{"c":1,"c":1}]}})"), "the key a.b.c is there twice; keep one of them");
  EXPECT_EQ(refusal(R"({"a":{"x":1},"b":{"x":1},"c":[{"x":1},{"x":1}]})"), "(accepted)");
}

TEST(JsonText, SyntaxErrorsNameThePlace) {
  const auto message = refusal("{\n  \"a\": 1 2\n}");
  EXPECT_NE(message.find("line 2"), std::string::npos) << message;
  EXPECT_EQ(message.find("json.exception"), std::string::npos);
  for (const char* text : {"", "{", "{}}", "{\"a\":1,}", "\xff", "{'a':1}"}) {
    EXPECT_NE(refusal(text).find("isn't JSON"), std::string::npos) << text;
  }
}

TEST(JsonText, DepthIsBounded) {
  const std::string deep(100, '[');
  EXPECT_NE(refusal(deep + std::string(100, ']')).find("deeper"), std::string::npos);
}

}  // namespace
}  // namespace harena
