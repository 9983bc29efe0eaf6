#include "core/cli/local_target.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>

namespace harena::cli {
namespace {

namespace fs = std::filesystem;

class LocalTargetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/harena-target-XXXXXX";
    folder = ::mkdtemp(pattern);
  }
  void TearDown() override { fs::remove_all(folder); }
  std::string in(const std::string& name) const { return folder + "/" + name; }
  std::string folder;
};

TEST_F(LocalTargetTest, WhatIsNewOrAFileIsReplaced) {
  std::ofstream(in("file")) << "old";
  for (const auto* name : {"new", "file", "no/such/folder"}) {
    const auto target = local_target(in(name));
    ASSERT_TRUE(target.ok()) << name;
    EXPECT_EQ(target->path, in(name));
    EXPECT_FALSE(target->stream);
  }
}

TEST_F(LocalTargetTest, ALinkIsFollowedAndKept) {
  std::ofstream(in("file")) << "old";
  fs::create_symlink("file", in("link"));
  const auto target = local_target(in("link"));
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target->path, fs::canonical(in("file")));
  fs::create_symlink("nowhere", in("dangling"));
  const auto refused = local_target(in("dangling"));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("dangling"), std::string::npos);
}

TEST_F(LocalTargetTest, DevicesAndFifosAreWrittenTo) {
  fs::create_symlink("/dev/null", in("device"));
  const auto device = local_target(in("device"));
  ASSERT_TRUE(device.ok());
  EXPECT_TRUE(device->stream);

  ASSERT_EQ(::mkfifo(in("fifo").c_str(), 0600), 0);
  const UniqueFd reader(::open(in("fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const auto fifo = local_target(in("fifo"));
  ASSERT_TRUE(fifo.ok());
  EXPECT_EQ(::write(fifo->stream.get(), "x", 1), 1);
}

TEST_F(LocalTargetTest, ASocketIsRefused) {
  const UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  in("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_FALSE(local_target(in("socket")).ok());
}

}  // namespace
}  // namespace harena::cli
