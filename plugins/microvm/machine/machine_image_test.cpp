#include "plugins/microvm/machine/machine_image.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>


namespace harena::microvm {
namespace {

namespace fs = std::filesystem;

class ImageFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/harena-image-XXXXXX";
    folder_ = ::mkdtemp(name);
    fs::create_directories(folder_ + "/a");
    fs::create_directories(folder_ + "/b");
  }
  void TearDown() override { fs::remove_all(folder_); }
  void put(const std::string& name, const std::string& text) { std::ofstream(folder_ + "/" + name) << text; }
  MachineImage image() {
    MachineImage image{.ram = "ram.1", .delta = "delta.4", .state = "state.3", .disk = {{"disk.2", false}, {"disk.5", true}}};
    image.layers = {"sha256:1"};
    image.vmm = "qemu 7.2.22";
    for (const auto& file : image.files()) put("a/" + file, file);
    return image;
  }
  std::string folder_;
};

TEST_F(ImageFolder, IsNoneWithoutItsManifest) {
  const auto made = image();
  EXPECT_EQ(MachineImage::read(folder_ + "/a").error().code, ErrorCode::not_found);
  ASSERT_TRUE(made.write(folder_ + "/a").ok());
  auto read = MachineImage::read(folder_ + "/a");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->files(), made.files());
  EXPECT_EQ(read->disk.back().overlay, true);
  ASSERT_TRUE(MachineImage::forget(folder_ + "/a").ok());
  ASSERT_TRUE(MachineImage::forget(folder_ + "/a").ok());
  EXPECT_EQ(MachineImage::read(folder_ + "/a").error().code, ErrorCode::not_found);
}

TEST_F(ImageFolder, IsNoneOnTheDiskBeforeItsFilesAre) {
  const auto made = image();
  fs::rename(folder_ + "/a/state.3", folder_ + "/kept");
  EXPECT_FALSE(made.write_to_disk(folder_ + "/a").ok());
  EXPECT_EQ(MachineImage::read(folder_ + "/a").error().code, ErrorCode::not_found);
  fs::rename(folder_ + "/kept", folder_ + "/a/state.3");
  ASSERT_TRUE(made.write_to_disk(folder_ + "/a").ok());
  auto read = MachineImage::read(folder_ + "/a");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(read->check_files(folder_ + "/a").ok());
  EXPECT_FALSE(fs::exists(folder_ + "/a/manifest.json.new"));
  EXPECT_TRUE(sync_if_there(folder_ + "/a/manifest.json").ok());
  EXPECT_TRUE(sync_if_there(folder_ + "/a/none").ok());
  EXPECT_FALSE(sync_if_there(folder_ + "/a/manifest.json/none").ok());
}

TEST_F(ImageFolder, AdoptedFilesOutliveWhereTheyCameFrom) {
  const auto made = image();
  put("b/disk.7", "in use");
  auto names = FileNames::in(folder_ + "/b");
  ASSERT_TRUE(names.ok());
  auto mine = adopt_image(made, folder_ + "/a", folder_ + "/b", *names);
  ASSERT_TRUE(mine.ok()) << mine.error().message;
  fs::remove_all(folder_ + "/a");
  for (const auto& file : mine->files()) {
    EXPECT_TRUE(fs::exists(folder_ + "/b/" + file)) << file;
    EXPECT_NE(file, "disk.7");
  }
}

TEST_F(ImageFolder, NamesThatLeaveTheFolderAreRefused) {
  ASSERT_TRUE(image().write(folder_ + "/a").ok());
  std::stringstream good;
  good << std::ifstream(folder_ + "/a/manifest.json").rdbuf();
  for (const char* name : {"../x", "/etc/passwd", "a/b", ".hidden", ""}) {
    auto evil = nlohmann::json::parse(good.str());
    evil["ram"] = name;
    put("a/manifest.json", evil.dump());
    EXPECT_EQ(MachineImage::read(folder_ + "/a").error().code, ErrorCode::data_loss) << name;
  }
  put("a/manifest.json", R"({"harena_machine_image": 99})");
  EXPECT_EQ(MachineImage::read(folder_ + "/a").error().code, ErrorCode::failed_precondition);
}

TEST_F(ImageFolder, WhatIsAdoptedByHalfLeavesNoFile) {
  const auto made = image();
  auto names = FileNames::in(folder_ + "/b");
  ASSERT_TRUE(names.ok());
  fs::remove(folder_ + "/a/disk.5");  // the last that is linked
  EXPECT_FALSE(adopt_image(made, folder_ + "/a", folder_ + "/b", *names).ok());
  EXPECT_TRUE(fs::is_empty(folder_ + "/b"));
}

}  // namespace
}  // namespace harena::microvm
