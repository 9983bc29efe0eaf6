#include "core/config/listen_address.hpp"

#include <gtest/gtest.h>

namespace harena {
namespace {

TEST(ListenAddress, BothFamiliesGoBothWays) {
  for (const char* text : {"127.0.0.1:7300", "0.0.0.0:0", "[::1]:7300", "[::]:65535"}) {
    EXPECT_EQ(parse_listen_address(text).value().str(), text);
  }
}

TEST(ListenAddress, OthersAreRefusedNamingTheText) {
  for (const char* text : {"", "7300", ":7300", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:7 ",
                           "::1:7300", "[127.0.0.1]:7300", "localhost:7300", "256.0.0.1:1", "[]:1", "127.0.0.1:0x10"}) {
    const auto refused = parse_listen_address(text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(refused.error().message.find("'" + std::string(text) + "'"), std::string::npos);
  }
}

}  // namespace
}  // namespace harena
