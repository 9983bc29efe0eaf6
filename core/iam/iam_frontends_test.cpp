#include <gmock/gmock.h>

#include "core/iam/frontend_credential.hpp"
#include "core/iam/testing_support.hpp"

namespace harena {
namespace {

constexpr const char* kId = "edge0abcdefghij01234";
constexpr const char* kPlugin = "dev.harena.e2b";

struct FrontendTest : IamTest {
  Sandbox made_by(const Principal& creator, const std::string& frontend = kPlugin) {
    Sandbox sandbox{.id = SandboxId::parse(kId).value(), .spec = {}};
    sandbox.spec.labels[kFrontendLabel] = frontend;
    sandbox.created_by = creator.id;
    return sandbox;
  }
  Principal acting(const std::string& id = kId, const std::string& plugin = kPlugin) {
    return iam.authenticate(iam.act_for(plugin, id).value()).value();
  }
};

TEST_F(FrontendTest, ReadsAndUsesTheOneSandboxAndNothingElse) {
  const auto sandbox = made_by(admin());
  const auto principal = acting();
  EXPECT_TRUE(iam.authorize_frontend(principal, Permission::sandbox_read, sandbox).ok());
  EXPECT_TRUE(iam.authorize_frontend(principal, Permission::sandbox_use, sandbox).ok());
  for (const auto other : {Permission::sandbox_stop, Permission::sandbox_create, Permission::admin}) {
    EXPECT_EQ(iam.authorize_frontend(principal, other, sandbox).error().code, ErrorCode::permission_denied);
  }
  for (const auto any : {Permission::sandbox_read, Permission::sandbox_use, Permission::project_read, Permission::node_read}) {
    EXPECT_FALSE(iam.authorize(principal, any, ProjectPath::root()).ok());
  }
}

TEST_F(FrontendTest, AnotherSandboxOrAnotherFrontendsIsUnknown) {
  const auto sandbox = made_by(admin());
  EXPECT_EQ(iam.authorize_frontend(acting("edge0zzzzzzzzzz01234"), Permission::sandbox_read, sandbox).error().code, ErrorCode::not_found);
  EXPECT_EQ(iam.authorize_frontend(acting(""), Permission::sandbox_read, sandbox).error().code, ErrorCode::not_found);
  EXPECT_EQ(iam.authorize_frontend(acting(kId, "dev.other"), Permission::sandbox_read, sandbox).error().code, ErrorCode::not_found);
  const auto plain = made_by(admin(), "");
  EXPECT_EQ(iam.authorize_frontend(acting(), Permission::sandbox_read, plain).error().code, ErrorCode::not_found);
  EXPECT_EQ(iam.authorize_frontend(admin(), Permission::sandbox_read, sandbox).error().code, ErrorCode::not_found);
}

TEST_F(FrontendTest, CanNoMoreThanTheCreatorStillCan) {
  const auto reader = with("root", {Permission::sandbox_create, Permission::sandbox_read});
  EXPECT_TRUE(iam.authorize_frontend(acting(), Permission::sandbox_read, made_by(reader)).ok());
  EXPECT_FALSE(iam.authorize_frontend(acting(), Permission::sandbox_use, made_by(reader)).ok());
  const auto user = with("root", {Permission::sandbox_use, Permission::sandbox_read});
  EXPECT_TRUE(iam.authorize_frontend(acting(), Permission::sandbox_use, made_by(user)).ok());
  ASSERT_TRUE(iam.revoke_token(call, admin(), user.id.substr(6)).ok());
  const auto refused = iam.authorize_frontend(acting(), Permission::sandbox_use, made_by(user));
  EXPECT_THAT(refused.error().message, testing::HasSubstr("was revoked"));
}

TEST_F(FrontendTest, AForgedCredentialIsRefused) {
  const auto good = iam.act_for(kPlugin, kId).value();
  auto bad = good;
  bad[6] = bad[6] == 'a' ? 'b' : 'a';
  EXPECT_EQ(iam.authenticate(bad).error().code, ErrorCode::unauthenticated);
  EXPECT_EQ(iam.authenticate(good.substr(0, good.size() - 1)).error().code, ErrorCode::unauthenticated);
  EXPECT_EQ(iam.authenticate("hrf_").error().code, ErrorCode::unauthenticated);
  EXPECT_EQ(iam.act_for(kPlugin, "../x").error().code, ErrorCode::invalid_argument);
  SeededRandom other_random{2};
  IamService other{store, clock, other_random};
  ASSERT_TRUE(other.start(call, token_file).ok());
  EXPECT_EQ(other.authenticate(good).error().code, ErrorCode::unauthenticated) << "another process took it";
}

TEST_F(FrontendTest, SecretsAreTheSameInEveryReplica) {
  const auto one = iam.frontend_secret(kPlugin, "envd").value();
  EXPECT_EQ(one.size(), 64u);
  EXPECT_NE(one, iam.frontend_secret(kPlugin, "traffic").value());
  EXPECT_NE(one, iam.frontend_secret("dev.other", "envd").value());
  SeededRandom other_random{2};
  IamService other{store, clock, other_random};
  ASSERT_TRUE(other.start(call, token_file).ok());
  EXPECT_EQ(other.frontend_secret(kPlugin, "envd").value(), one);
}

TEST(FrontendCredentialTest, ComesBackAsItWasSigned) {
  const FrontendCredential given{kId, kPlugin};
  EXPECT_EQ(verify(sign(given, "key").value(), "key"), given);
  EXPECT_EQ(verify(sign(given, "key").value(), "other"), std::nullopt);
  const FrontendCredential none{"", kPlugin};
  EXPECT_EQ(verify(sign(none, "key").value(), "key"), none);
}

}  // namespace
}  // namespace harena
