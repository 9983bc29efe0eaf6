#include "core/iam/testing_support.hpp"

namespace harena {
namespace {

using P = Permission;

TEST_F(IamTest, ProjectsAreMadeBelowProjectsThatExist) {
  make_project("root/a");
  make_project("root/a/b");
  EXPECT_EQ(iam.create_project(call, admin(), path_of("root/x/y"), {}).error().code, ErrorCode::not_found);
  EXPECT_EQ(iam.create_project(call, admin(), path_of("root/a"), {}).error().code, ErrorCode::already_exists);
  EXPECT_EQ(iam.create_project(call, admin(), ProjectPath::root(), {}).error().code, ErrorCode::already_exists);
  EXPECT_EQ(iam.list_projects(admin(), ProjectPath::root(), "", 10).value().size(), 3u);
  EXPECT_EQ(iam.list_projects(admin(), path_of("root/a"), "root/a", 10).value().size(), 1u);
}

TEST_F(IamTest, NobodyLiftsTheLimitsOfHisOwnProject) {
  make_project("root/a");
  make_project("root/a/b");
  const auto owner = with("root/a", {P::project_write});
  EXPECT_FALSE(iam.set_limits(call, owner, path_of("root/a"), {}).ok());
  EXPECT_TRUE(iam.set_limits(call, owner, path_of("root/a/b"), {.sandboxes = 3}).ok());
  EXPECT_EQ(iam.set_limits(call, admin(), path_of("root/a"), {.cpu_milli = -1}).error().code,
            ErrorCode::invalid_argument);
}

TEST_F(IamTest, LimitsReachTheLedgerAlsoAfterARestart) {
  make_project("root/a");
  ASSERT_TRUE(iam.set_limits(call, admin(), path_of("root/a"), {.sandboxes = 1}).ok());
  IamService again(store, clock, random);
  ASSERT_TRUE(again.start(call, token_file).ok());
  for (IamService* one : {&iam, &again}) {
    const auto held = one->quotas().reserve(path_of("root/a"), {});
    EXPECT_TRUE(held.ok());
    EXPECT_EQ(one->quotas().reserve(path_of("root/a"), {}).error().code, ErrorCode::resource_exhausted);
  }
}

TEST_F(IamTest, AProjectWithChildrenOrSandboxesStaysAndItsTokensToo) {
  make_project("root/a");
  make_project("root/a/b");
  const auto token = iam.create_token(call, admin(), {path_of("root/a"), {P::sandbox_use}, ""}).value();
  EXPECT_NE(iam.remove_project(call, admin(), path_of("root/a")).error().message.find("root/a/b"), std::string::npos);
  ASSERT_TRUE(iam.remove_project(call, admin(), path_of("root/a/b")).ok());

  bool busy = true;
  iam.set_sandbox_check([&](const ProjectPath& path) { return busy && path == path_of("root/a"); });
  EXPECT_EQ(iam.remove_project(call, admin(), path_of("root/a")).error().code, ErrorCode::failed_precondition);
  busy = false;
  {
    const auto under_way = iam.quotas().reserve(path_of("root/a"), {}).value().amount();
    const auto held = iam.quotas().reserve(path_of("root/a"), under_way);
    EXPECT_EQ(iam.remove_project(call, admin(), path_of("root/a")).error().code, ErrorCode::failed_precondition);
  }
  EXPECT_TRUE(iam.authenticate(token.secret).ok());

  EXPECT_TRUE(iam.remove_project(call, admin(), path_of("root/a")).ok());
  EXPECT_FALSE(iam.authenticate(token.secret).ok());
  EXPECT_EQ(iam.remove_project(call, admin(), path_of("root/a")).error().code, ErrorCode::not_found);
  EXPECT_EQ(iam.remove_project(call, admin(), ProjectPath::root()).error().code, ErrorCode::invalid_argument);
}

TEST_F(IamTest, FindProjectNeedsProjectRead) {
  make_project("root/a");
  EXPECT_EQ(iam.find_project(with("root/a", {P::project_read}), path_of("root/a")).value().created_by, admin().id);
  EXPECT_FALSE(iam.find_project(with("root/a", {P::sandbox_use}), path_of("root/a")).ok());
}

}  // namespace
}  // namespace harena
