#include "sdk/client/endpoint.hpp"

#include <fstream>

#include <gtest/gtest.h>

namespace harena::client {
namespace {

DiscoveryInputs inputs(std::map<std::string, std::string> variables, std::string token_file = "/nonexistent") {
  DiscoveryInputs in;
  in.token_file = std::move(token_file);
  in.environment = [variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
  return in;
}

TEST(EndpointTest, ParsesUrls) {
  const auto plain = parse_url("http://127.0.0.1:7300");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->port, 7300);
  EXPECT_EQ(plain->base_path, "/v1");
  EXPECT_TRUE(plain->loopback());
  const auto proxied = parse_url("https://box.example/harena/");
  ASSERT_TRUE(proxied.ok());
  EXPECT_EQ(proxied->port, 443);
  EXPECT_EQ(proxied->base_path, "/harena/v1");
  EXPECT_FALSE(proxied->loopback());
  EXPECT_EQ(parse_url("http://[::1]:1/v1")->describe(), "http://[::1]:1");
}

TEST(EndpointTest, RefusesWhatIsNone) {
  for (const char* text : {"", "7300", "ftp://x", "http://", "http://user:pw@x", "http://x?y=z", "http://x:99999"}) {
    const auto parsed = parse_url(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(parsed.error().message.find(text), std::string::npos);
  }
}

TEST(EndpointTest, GivenBeatsEnvironmentBeatsFile) {
  const auto path = testing::TempDir() + "admin.token." + std::to_string(::getpid());
  std::ofstream(path) << "from-file\n";
  auto in = inputs({{"HARENA_TOKEN", "from-env"}, {"HARENA_URL", "http://127.0.0.1:1"}}, path);
  EXPECT_EQ(discover(in)->token, "from-env");
  EXPECT_EQ(discover(in)->port, 1);
  in.token = "given";
  in.url = "http://127.0.0.1:2";
  EXPECT_EQ(discover(in)->token, "given");
  EXPECT_EQ(discover(in)->port, 2);
  EXPECT_EQ(discover(inputs({}, path))->token, "from-file");
  EXPECT_EQ(discover(inputs({}, path))->port, 7300);
}

TEST(EndpointTest, TheAdminTokenNeverLeavesThisMachine) {
  const auto path = testing::TempDir() + "admin.token2." + std::to_string(::getpid());
  std::ofstream(path) << "from-file\n";
  const auto found = discover(inputs({{"HARENA_URL", "http://far.example:7300"}}, path));
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::unauthenticated);
  EXPECT_NE(found.error().message.find("HARENA_TOKEN"), std::string::npos);
}

}  // namespace
}  // namespace harena::client
