#include "plugins/container/sandbox_user.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sdk/base/unique_fd.hpp"
#include "sdk/support/files.hpp"

namespace harena::container {
namespace {

namespace fs = std::filesystem;

class SandboxUser : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "harena-user-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    fs::create_directory(folder_ / "etc");
    root_ = open_directory(AT_FDCWD, folder_.string()).value();
    file("passwd", "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/:/bin/sh\nbroken:x:abc:0::/:\nshort:x:1\n");
    file("group", "root:x:0:\nstaff:x:50:\n");
  }
  void TearDown() override { fs::remove_all(folder_); }
  void file(const char* name, const std::string& text) { std::ofstream(folder_ / "etc" / name) << text; }
  std::string refused(const std::string& user) {
    const Status status = check_user(root_.get(), user);
    return status.ok() ? "" : std::string(to_string(status.error().code)) + " " + status.error().cause_detail;
  }

  fs::path folder_;
  UniqueFd root_;
};

TEST_F(SandboxUser, WhatExecWouldTake) {
  for (const char* user : {"", "root", "user", "0", "1234", "user:staff", "user:77", "99:99", ":staff"}) EXPECT_EQ(refused(user), "") << user;
}

TEST_F(SandboxUser, WhatExecWouldRefuse) {
  for (const char* user : {"nobody2", "broken", "short", "-1", "4294967295", "us er", "nobody2:staff"}) {
    EXPECT_EQ(refused(user), "invalid_argument no_such_user") << user;
  }
  for (const char* user : {"user:none", "user:", "0:4294967295"}) EXPECT_EQ(refused(user), "invalid_argument no_such_group") << user;
}

TEST_F(SandboxUser, LinksStayInsideAndNothingButFilesIsRead) {
  fs::remove(folder_ / "etc/passwd");
  fs::create_symlink("/etc/passwd.real", folder_ / "etc/passwd");
  EXPECT_EQ(refused("daemon"), "invalid_argument no_such_user") << "the host has a daemon";
  file("passwd.real", "inside:x:5:5::/:/bin/sh\n");
  EXPECT_EQ(refused("inside"), "");
  fs::remove(folder_ / "etc/passwd");
  ASSERT_EQ(::mkfifo((folder_ / "etc/passwd").c_str(), 0644), 0);
  EXPECT_EQ(refused("user"), "invalid_argument no_such_user");
}

}  // namespace
}  // namespace harena::container
