#include "sdk/vmm/user_pool.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

namespace harena::vmm {
namespace {

class Users : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "users-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file() const { return folder_ + "/users"; }

  std::string folder_;
};

TEST_F(Users, TheLowestFreeFirstAndNoMoreThanThereAre) {
  UserPool pool(5000, 2, file());
  EXPECT_EQ(*pool.acquire(), 5000u);
  EXPECT_EQ(*pool.acquire(), 5001u);
  const auto none = pool.acquire();
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::resource_exhausted);
  pool.release(5000);
  EXPECT_EQ(*pool.acquire(), 5000u);
}

TEST_F(Users, TwoInstallationsNeverHaveTheSame) {
  UserPool one(5000, 400, file()), other(5000, 400, file());
  std::vector<std::uint32_t> ones, others;
  const auto take = [](UserPool& pool, std::vector<std::uint32_t>& into) {
    for (int i = 0; i < 200; ++i) into.push_back(*pool.acquire());
  };
  std::thread beside([&] { take(other, others); });
  take(one, ones);
  beside.join();
  std::set<std::uint32_t> all(ones.begin(), ones.end());
  all.insert(others.begin(), others.end());
  EXPECT_EQ(all.size(), 400u);
}

TEST_F(Users, AMachineKeepsItsUserWhenItsDaemonIsGone) {
  auto daemon = std::make_optional<UserPool>(5000, 10, file());
  const auto uid = daemon->acquire();
  ASSERT_EQ(*uid, 5000u);
  auto machine = hold_user(*uid, file());
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  daemon.reset();

  UserPool other(5000, 10, file());
  EXPECT_EQ(*other.acquire(), 5001u);
  UserPool successor(5000, 10, file());
  ASSERT_TRUE(successor.acquire_exactly(*uid).ok());
  machine = Result<UniqueFd>(UniqueFd());
  other.release(5001);
  EXPECT_EQ(*other.acquire(), 5001u) << "the successor of the daemon holds the first";
  successor.release(*uid);
  EXPECT_EQ(*other.acquire(), 5000u);
}

TEST_F(Users, AMachineThatComesBackGetsItsOwnOrAnother) {
  UserPool pool(5000, 10, file()), other(5000, 10, file());
  EXPECT_EQ(*pool.acquire_again(5003), 5003u);
  EXPECT_EQ(*pool.acquire_again(5003), 5000u) << "somebody here has it";
  EXPECT_EQ(*other.acquire_again(5003), 5001u) << "somebody else has it";
  EXPECT_EQ(*other.acquire_again(77), 77u) << "of an earlier configuration";
}

TEST_F(Users, WhatIsReleasedThoughNobodyTookItHereStaysWithWhoHasIt) {
  UserPool pool(5000, 10, file()), other(5000, 10, file());
  ASSERT_EQ(*pool.acquire(), 5000u);
  other.release(5000);
  EXPECT_EQ(*other.acquire(), 5001u);
}

TEST_F(Users, AFileThatCannotBeIsNamed) {
  UserPool pool(5000, 10, folder_ + "/none/users");
  const auto none = pool.acquire();
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("/none/users"), std::string::npos);
}

}  // namespace
}  // namespace harena::vmm
