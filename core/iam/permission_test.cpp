#include "core/iam/permission.hpp"

#include <gtest/gtest.h>

namespace harena {
namespace {

using P = Permission;

TEST(PermissionNames, GoBothWaysAndEveryOneIsDescribed) {
  EXPECT_EQ(all_permissions().size(), 11u);
  for (const P permission : all_permissions()) {
    EXPECT_EQ(permission_from_string(to_string(permission)), permission);
    EXPECT_TRUE(describe(permission).ends_with('.')) << to_string(permission);
  }
  EXPECT_FALSE(permission_from_string("root").has_value());
}

TEST(PermissionSets, AdminContainsAll) {
  for (const P permission : all_permissions()) EXPECT_TRUE(grants({P::admin}, permission));
  EXPECT_FALSE(grants({P::sandbox_use}, P::admin));
  EXPECT_FALSE(grants({}, P::sandbox_read));
  EXPECT_EQ(first_missing({P::sandbox_use}, {P::sandbox_use, P::node_read}), P::node_read);
  EXPECT_EQ(first_missing({P::admin}, {P::sandbox_use, P::node_read}), std::nullopt);
}

TEST(PermissionSets, ParsingNamesTheNearest) {
  EXPECT_EQ(parse_permissions({"admin", "admin", "node_read"}).value(), (std::vector{P::admin, P::node_read}));
  const auto refused = parse_permissions({"sandbox_crate"});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("sandbox_create"), std::string::npos);
}

}  // namespace
}  // namespace harena
