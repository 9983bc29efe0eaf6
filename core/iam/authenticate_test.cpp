#include <atomic>
#include <chrono>
#include <thread>

#include "core/iam/testing_support.hpp"

namespace harena {
namespace {

TEST_F(IamTest, BadCredentialsAreUnauthenticatedAndNotRepeated) {
  for (const std::string& bad : {std::string(), std::string("secret-thing"), "hrn_" + std::string(64, 'z'),
                                 "hrn_" + std::string(64, 'a'), admin_token() + "0"}) {
    const auto refused = iam.authenticate(bad);
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_EQ(refused.error().code, ErrorCode::unauthenticated);
    EXPECT_TRUE(bad.empty() || refused.error().message.find(bad) == std::string::npos);
  }
}

TEST_F(IamTest, ATokenEndsAtItsExpiry) {
  const auto minted = iam.create_token(
      call, admin(), {ProjectPath::root(), {Permission::sandbox_read}, "short", clock.wall_ms() + 1'000}).value();
  EXPECT_TRUE(iam.authenticate(minted.secret).ok());
  clock.advance_ms(999);
  EXPECT_TRUE(iam.authenticate(minted.secret).ok());
  clock.advance_ms(1);
  EXPECT_NE(iam.authenticate(minted.secret).error().message.find("expired"), std::string::npos);
}

TEST_F(IamTest, RightsHoldForTheProjectAndBelowAndNowhereElse) {
  for (const char* path : {"root/a", "root/a/b", "root/ab"}) make_project(path);
  const auto principal = with("root/a", {Permission::sandbox_use});
  EXPECT_TRUE(iam.authorize(principal, Permission::sandbox_use, path_of("root/a")).ok());
  EXPECT_TRUE(iam.authorize(principal, Permission::sandbox_use, path_of("root/a/b")).ok());
  for (const char* other : {"root", "root/ab"}) {
    const auto refused = iam.authorize(principal, Permission::sandbox_use, path_of(other));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::permission_denied);
    EXPECT_NE(refused.error().message.find("sandbox_use"), std::string::npos);
    EXPECT_NE(refused.error().message.find(std::string("'") + other + "'"), std::string::npos);
  }
  EXPECT_FALSE(iam.authorize(principal, Permission::sandbox_stop, path_of("root/a")).ok());
}

TEST_F(IamTest, AnUnknownProjectIsNotFoundOnlyForThoseWhoMayLook) {
  make_project("root/a");
  const auto looks = with("root/a", {Permission::project_read});
  const auto blind = with("root/a", {Permission::sandbox_create});
  EXPECT_EQ(iam.authorize(looks, Permission::sandbox_create, path_of("root/a/x")).error().code, ErrorCode::not_found);
  EXPECT_EQ(iam.authorize(blind, Permission::sandbox_create, path_of("root/a/x")).error().code,
            ErrorCode::permission_denied);
  EXPECT_EQ(iam.authorize(looks, Permission::sandbox_create, path_of("root/other")).error().code,
            ErrorCode::permission_denied);
}

TEST_F(IamTest, TheSystemMayEverything) {
  EXPECT_TRUE(iam.authorize(system_principal(), Permission::admin, ProjectPath::root()).ok());
}

TEST_F(IamTest, TwoThreadsAuthenticateWhileTokensComeAndGo) {
  const auto token = admin_token();
  std::atomic<bool> stop = false;
  std::atomic<int> done = 0, failed = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        if (!iam.authenticate(token)) ++failed;
        ++done;
      }
    });
  }
  const auto maker = admin();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 200; ++i) {
    const auto minted = iam.create_token(call, maker, {ProjectPath::root(), {Permission::node_read}, "x"}).value();
    ASSERT_TRUE(iam.authenticate(minted.secret).ok());
    ASSERT_TRUE(iam.revoke_token(call, maker, minted.record.id).ok());
    ASSERT_FALSE(iam.authenticate(minted.secret).ok());
  }
  while (done < 1'000) std::this_thread::yield();
  stop = true;
  for (auto& reader : readers) reader.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(failed, 0);
  RecordProperty("authentications_per_second", static_cast<int>(done / took.count()));
}

}  // namespace
}  // namespace harena
