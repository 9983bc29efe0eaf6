#include "sdk/support/landlock.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>

namespace harena {
namespace {

namespace fs = std::filesystem;

/// What `attempt` left in errno in a confined process of its own; 0 when it succeeded.
int confined(const std::function<long()>& attempt) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (!confine_file_helper().ok()) ::_exit(200);
    errno = 0;
    ::_exit(attempt() < 0 ? errno : 0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class Landlock : public ::testing::Test {
 protected:
  void SetUp() override {
    if (landlock_version() < 2) GTEST_SKIP() << "this kernel has no Landlock of version 2";
    char pattern[] = "/tmp/harena-landlock-XXXXXX";
    folder_ = ::mkdtemp(pattern);
    fs::create_directories(folder_ / "a");
    fs::create_directories(folder_ / "b");
    ::close(::creat((folder_ / "a/file").c_str(), 0600));
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  fs::path folder_;
};

TEST_F(Landlock, FilesAreHandledAsBefore) {
  EXPECT_EQ(confined([&] { return ::rename(path("a/file").c_str(), path("b/file").c_str()); }), 0);
  EXPECT_EQ(confined([&] { return ::link(path("b/file").c_str(), path("a/other").c_str()); }), 0);
  EXPECT_EQ(confined([&] { return ::open(path("a/new").c_str(), O_WRONLY | O_CREAT, 0600); }), 0);
  EXPECT_EQ(confined([&] { return ::mkfifo(path("a/fifo").c_str(), 0600); }), 0);
  EXPECT_EQ(confined([&] {
    const int unnamed = ::open(path("a").c_str(), O_WRONLY | O_TMPFILE, 0600);
    const std::string self = "/proc/self/fd/" + std::to_string(unnamed);
    return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path("b/unnamed").c_str(), AT_SYMLINK_FOLLOW);
  }), 0);
}

TEST_F(Landlock, WhatAHelperNeverNeedsIsRefused) {
  EXPECT_EQ(confined([] { return ::execl("/bin/true", "true", nullptr); }), EACCES);
  EXPECT_EQ(confined([&] { return ::mknod(path("a/null").c_str(), S_IFCHR | 0600, makedev(1, 3)); }), ::geteuid() == 0 ? EACCES : EPERM);
  if (landlock_version() >= 4) {
    EXPECT_EQ(confined([] {
      sockaddr_in here{};
      here.sin_family = AF_INET;
      here.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
      return ::bind(::socket(AF_INET, SOCK_STREAM, 0), reinterpret_cast<sockaddr*>(&here), sizeof here);
    }), EACCES);
  }
  if (landlock_version() >= 6) {
    EXPECT_EQ(confined([] { return ::kill(::getppid(), 0); }), EPERM);
  }
}

}  // namespace
}  // namespace harena
