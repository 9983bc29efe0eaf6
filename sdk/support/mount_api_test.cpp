#include "sdk/support/mount_api.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sdk/support/files.hpp"
#include "sdk/support/namespace_holder.hpp"

namespace harena {
namespace {

class MountApi : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "mounting needs root";
    auto tmpfs = new_filesystem("tmpfs", {{"size", "1m"}, {"mode", "0755"}}, kMountNoDev);
    if (!tmpfs.ok()) GTEST_SKIP() << "this host doesn't let us mount: " << tmpfs.error().message;
    mount_ = std::move(*tmpfs);
  }
  UniqueFd mount_;
};

TEST_F(MountApi, DetachedMountsAreInvisible) {
  auto odd = new_filesystem("tmpfs", {{"size", "1236k"}}, kMountNoDev);  // a size by which it would be known among those of others
  ASSERT_TRUE(odd.ok());
  ASSERT_TRUE(create_file_at(odd->get(), "file", "x", 0644).ok());
  EXPECT_EQ(read_file_at(odd->get(), "file").value(), "x");
  for (const auto& entry : mount_table().value()) EXPECT_EQ(entry.super_options.find("size=1236k"), std::string::npos) << entry.mount_point;
}

TEST_F(MountApi, AttributesHold) {
  ASSERT_TRUE(restrict_mount(mount_.get(), kMountReadOnly).ok());
  EXPECT_EQ(create_file_at(mount_.get(), "file", "x", 0644).error().code, ErrorCode::permission_denied);
}

TEST_F(MountApi, TheKernelsWordsAreInTheError) {
  auto mount = new_filesystem("tmpfs", {{"sise", "1m"}}, 0);
  ASSERT_FALSE(mount.ok());
  EXPECT_NE(mount.error().message.find("sise"), std::string::npos) << mount.error().message;
  EXPECT_FALSE(new_filesystem("nosuchfs", {}, 0).ok());
}

TEST_F(MountApi, IdMappedAndNamespaces) {
  constexpr std::uint32_t kFirst = 0x7FF00000;
  auto holder = NamespaceHolder::make(kFirst);
  ASSERT_TRUE(holder.ok()) << holder.error().message;
  ASSERT_TRUE(create_file_at(mount_.get(), "file", "x", 0644).ok());
  auto mapped = idmap_mount(mount_.get(), holder->user_namespace());
  if (!mapped.ok()) GTEST_SKIP() << "tmpfs has no id-mapped mounts before Linux 6.3";
  struct stat info{};
  ASSERT_EQ(::fstatat(mount_.get(), "file", &info, 0), 0);
  EXPECT_EQ(info.st_uid, kFirst);
}

TEST(MountTable, HasTheRoot) {
  auto table = mount_table();
  ASSERT_TRUE(table.ok());
  bool root = false;
  for (const auto& entry : *table) root = root || entry.mount_point == "/";
  EXPECT_TRUE(root);
}

}  // namespace
}  // namespace harena
