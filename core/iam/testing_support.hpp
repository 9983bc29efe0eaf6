#pragma once
// An IamService with everything below it, for the tests of this room.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/iam/iam_service.hpp"
#include "core/store/testing/memory_state_store.hpp"

namespace harena {

struct TemporaryFolder {
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "harena-iam-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

struct IamTest : testing::Test {
  void SetUp() override { ASSERT_TRUE(iam.start(call, token_file).ok()); }

  static ProjectPath path_of(const std::string& text) { return ProjectPath::parse(text).value(); }
  std::string admin_token() {
    std::string token;
    std::getline(std::ifstream(token_file) >> std::ws, token);
    return token;
  }
  Principal admin() { return iam.authenticate(admin_token()).value(); }
  void make_project(const std::string& path) {
    ASSERT_TRUE(iam.create_project(call, admin(), path_of(path), {}).ok()) << path;
  }
  Principal with(const std::string& project, std::vector<Permission> permissions, std::int64_t expires_ms = 0) {
    const auto minted = iam.create_token(call, admin(), {path_of(project), std::move(permissions), "t", expires_ms});
    return iam.authenticate(minted.value().secret).value();
  }

  TemporaryFolder folder;
  std::filesystem::path token_file = folder.path / "admin-token";
  MemoryStateStore store;
  ManualClock clock;
  SeededRandom random{1};
  IamService iam{store, clock, random};
  CallContext call;
};

}  // namespace harena
