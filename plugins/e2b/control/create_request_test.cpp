#include "plugins/e2b/control/create_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugins/e2b/control/network_options.hpp"

namespace harena::e2b {
namespace {

using nlohmann::json;
using testing::HasSubstr;

struct CreateRequestTest : testing::Test {
  Result<CreateRequest> parse(const char* text, CreateForm form = CreateForm::v2) {
    return parse_create(json::parse(text), form, settings, counters);
  }
  std::string refused(const char* text) {
    auto parsed = parse(text);
    EXPECT_FALSE(parsed.ok()) << text;
    if (parsed.ok()) return "";
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid_argument);
    return parsed.error().message;
  }
  Settings settings;
  Counters counters;
};

TEST_F(CreateRequestTest, TheSmallestOneHasDefaults) {
  const auto request = parse(R"({"templateID": "base"})").value();
  EXPECT_EQ(request.timeout_s, 300);
  EXPECT_FALSE(request.auto_pause);
  EXPECT_TRUE(request.extras.public_traffic);
  EXPECT_EQ(parse(R"({"templateID": "base"})", CreateForm::legacy)->timeout_s, 15);
}

TEST_F(CreateRequestTest, BecomesACreateOfHarenas) {
  const auto request = parse(R"({"templateID": "Team/B", "timeout": 60, "metadata": {"a": "b"}, "envVars": {"X": "1", "E2B_SANDBOX": "no"},
                                 "autoPause": true, "autoResume": {"enabled": true}, "allow_internet_access": false})").value();
  Template from{.id = "base", .aliases = {"b"}, .image = "root/x:1", .cpu = 0.5, .memory_mb = 64, .disk_mb = 10};
  from.params = {{"pids", 50}, {"env", {{"LANG", "C"}}}};
  const auto body = core_create_body(request, from, "root/team");
  EXPECT_EQ(body["project"], "root/team");
  EXPECT_EQ(body["image"], "root/x:1");
  EXPECT_EQ(body["lifetime_s"], 60);
  EXPECT_EQ(body["lifetime_action"], "pause");
  EXPECT_EQ(body["lifetime_when_paused"], "restarts");
  EXPECT_EQ(body["resume_on_use"], true);
  EXPECT_EQ(body["idle_ttl_s"], 0);
  EXPECT_EQ(body["labels"], (json{{"frontend", kPluginId}, {kTemplateLabel, "base"}}));
  const json params = {{"cpu", 0.5}, {"memory", "64MiB"}, {"disk", "10MiB"}, {"pids", 50},
                       {"env", {{"LANG", "C"}, {"X", "1"}, {"E2B_SANDBOX", "no"}, {"E2B_TEMPLATE_ID", "base"}}}};
  EXPECT_EQ(body["params"], params);
  const auto extras = extras_from(json::parse(body["annotations"][kAnnotation].get<std::string>())).value();
  EXPECT_EQ(extras.alias, "b");
  EXPECT_EQ(extras.metadata.at("a"), "b");
  EXPECT_EQ(extras.allow_internet_access, false);
}

TEST_F(CreateRequestTest, WhatItDoesNotKnowIsCounted) {
  ASSERT_TRUE(parse(R"({"templateID": "base", "new": 1, "network": {"newer": 2}, "autoResume": {"enabled": false, "newest": 3}})").ok());
  const auto text = counters.metrics().dump();
  for (const char* field : {"\"new\"", "\"network.newer\"", "\"autoResume.newest\""}) EXPECT_THAT(text, HasSubstr(field));
}

TEST_F(CreateRequestTest, NullIsAbsent) {
  EXPECT_TRUE(parse(R"({"templateID": "base", "timeout": null, "metadata": null, "mcp": null, "network": null, "volumeMounts": null,
                       "network": {"egressProxy": null, "rules": {}, "allowOut": []}})").ok());
}

TEST_F(CreateRequestTest, RefusesInASentenceThatNamesTheOption) {
  EXPECT_THAT(refused(R"({})"), HasSubstr("templateID is missing"));
  EXPECT_THAT(refused(R"({"templateID": "b", "timeout": 0})"), HasSubstr("timeout is 0"));
  EXPECT_THAT(refused(R"({"templateID": "b", "timeout": 1e300})"), HasSubstr("timeout is 1e+300"));
  EXPECT_THAT(refused(R"({"templateID": "b", "timeout": 18446744073709551615})"), HasSubstr("whole number"));
  EXPECT_THAT(refused(R"({"templateID": "b", "autoPauseMemory": false})"), HasSubstr("autoPauseMemory: false"));
  EXPECT_THAT(refused(R"({"templateID": "b", "autoResume": {"enabled": true}})"), HasSubstr("without autoPause"));
  EXPECT_THAT(refused(R"({"templateID": "b", "volumeMounts": [{}]})"), HasSubstr("volumeMounts"));
  EXPECT_THAT(refused(R"({"templateID": "b", "network": {"allowOut": ["x"]}})"), HasSubstr("network.allowOut"));
  EXPECT_THAT(refused(R"({"templateID": "b", "network": {"denyOut": ["x"]}})"), HasSubstr("network.denyOut has 'x'"));
}

TEST(E2bNetwork, KnowsAddressesAndRanges) {
  for (const char* good : {"0.0.0.0/0", "1.1.1.1", "10.0.0.0/8", "::/0", "fd00::1", "fd00::/8", "1.2.3.4/32"}) {
    EXPECT_TRUE(is_address_or_range(good)) << good;
  }
  for (const char* bad : {"", "example.org", "10.0.0.0/33", "10.0.0.0/", "10.0.0/8", "1.1.1.1/-1", "::/129", "1.1.1.1/8x"}) {
    EXPECT_FALSE(is_address_or_range(bad)) << bad;
  }
}

}  // namespace
}  // namespace harena::e2b
