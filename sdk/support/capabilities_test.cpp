#include "sdk/support/capabilities.hpp"

#include <gtest/gtest.h>

namespace harena {
namespace {

TEST(Capabilities, ByName) {
  EXPECT_EQ(capability_bit("CAP_CHOWN").value(), 1u);
  EXPECT_EQ(capability_bit("sys_admin").value(), CapabilityMask{1} << 21);
  EXPECT_EQ(capability_bit("checkpoint_restore").value(), CapabilityMask{1} << 40);
  auto unknown = capability_bit("sys_adm");
  EXPECT_EQ(unknown.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(unknown.error().message.find("sys_admin"), std::string::npos);
}

}  // namespace
}  // namespace harena
