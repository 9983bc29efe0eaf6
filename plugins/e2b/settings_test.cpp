#include "plugins/e2b/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace harena::e2b {
namespace {

using nlohmann::json;

Settings parsed(const char* text) { return parse_settings(json::parse(text)).value(); }
std::string refused(const char* text) { return parse_settings(json::parse(text)).error().message; }

TEST(E2bSettings, ReadsWhatIsThere) {
  const auto settings = parsed(R"({"listen": "0.0.0.0:80", "domain": "sbx.example.org", "max_timeout_s": 60,
    "templates": {"base": {"image": "root/x:1", "cpu": 0.5, "memory_mb": 64, "aliases": ["b"], "user": "root"}}})");
  EXPECT_EQ(settings.host, "0.0.0.0");
  EXPECT_EQ(settings.port, 80);
  EXPECT_EQ(settings.domain, "sbx.example.org");
  EXPECT_EQ(settings.max_timeout_s, 60);
  ASSERT_EQ(settings.templates.size(), 1u);
  EXPECT_EQ(settings.templates[0].memory_mb, 64);
  EXPECT_EQ(settings.templates[0].user, "root");
}

TEST(E2bSettings, AddressesOfVersion6) {
  EXPECT_EQ(parsed(R"({"listen": "[::1]:7400"})").host, "::1");
}

TEST(E2bSettings, NamesWhatIsWrong) {
  EXPECT_THAT(refused(R"({"listen": "7400"})"), testing::HasSubstr("listen is '7400'"));
  EXPECT_THAT(refused(R"({"listen": "127.0.0.1:70000"})"), testing::HasSubstr("ADDRESS:PORT"));
  EXPECT_THAT(refused(R"({"templates": {"Base": {"image": "x"}}})"), testing::HasSubstr("template name 'Base'"));
  EXPECT_THAT(refused(R"({"templates": {"a": {"image": "x", "aliases": ["b"]}, "b": {"image": "x"}}})"),
              testing::HasSubstr("two templates are called 'b'"));
  EXPECT_THAT(refused(R"({"templates": {"a": {"image": "x", "warm": 2}}})"), testing::HasSubstr("templates.a.warm is 2 and warm_token_file isn't set"));
}

TEST(E2bSettings, FindsATemplateByAllThatClientsCallIt) {
  const auto settings = parsed(R"({"templates": {"base": {"image": "x", "aliases": ["b"]}}})");
  for (const char* name : {"base", "BASE", "b", "base:default", "team/base", "team/base:default"}) {
    ASSERT_NE(settings.find_template(name), nullptr) << name;
    EXPECT_EQ(settings.find_template(name)->id, "base");
  }
  for (const char* name : {"", "bas", "base:v2", "base/other"}) EXPECT_EQ(settings.find_template(name), nullptr) << name;
}

}  // namespace
}  // namespace harena::e2b
