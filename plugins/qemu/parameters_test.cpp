#include "plugins/qemu/parameters.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "plugins/qemu/disk_image.hpp"

namespace harena::qemu {
namespace {

namespace fs = std::filesystem;

class ParametersTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/qemu_parameters_XXXXXX";
    root_ = ::mkdtemp(name);
    fs::create_directory(root_ / "in");
    write("in/raw.img", std::string(4096, 'x'));
    write("outside.img", std::string(4096, 'x'));
    fs::create_symlink(root_ / "outside.img", root_ / "in/link.img");
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& name, const std::string& bytes) const { std::ofstream(root_ / name, std::ios::binary) << bytes; }
  std::string path(const std::string& name) const { return (root_ / name).string(); }
  /// The message of what is wrong with it; empty if nothing is.
  std::string said(const json& params) {
    config_ = MachineConfig();
    const Status status = apply_parameters(params, {path("in")}, config_, cpu_, uefi_);
    return status.ok() ? "" : status.error().message;
  }
  /// A qcow2 header of version 3.
  static std::string qcow2(unsigned char size_mib, unsigned char backing = 0, unsigned char incompatible = 0) {
    std::string header(104, '\0');
    header.replace(0, 8, std::string("QFI\xfb\0\0\0\3", 8));
    header[15] = static_cast<char>(backing);
    header[29] = static_cast<char>(size_mib << 4);
    header[79] = static_cast<char>(incompatible);
    return header;
  }
  fs::path root_;
  MachineConfig config_;
  std::int64_t cpu_ = 0;
  bool uefi_ = false;
};

TEST_F(ParametersTest, DisksAreFilesBelowTheRoots) {
  EXPECT_EQ(said({{"disks", {{{"image", path("in/raw.img")}, {"format", "raw"}}}}}), "");
  EXPECT_EQ(config_.disks.at(0).size_bytes, 4096);
  for (const std::string& wrong : {path("outside.img"), path("in/link.img"), path("in/../outside.img"), path("in"),
      std::string("in/raw.img")}) {
    const auto text = said({{"disks", {{{"image", wrong}, {"format", "raw"}}}}});
    EXPECT_NE(text.find("disks[0].image"), std::string::npos) << wrong << ": " << text;
    EXPECT_NE(text.find(path("in")), std::string::npos) << text;
  }
}

TEST_F(ParametersTest, AQcow2StandsAlone) {
  write("in/good.qcow2", qcow2(4));
  write("in/backed.qcow2", qcow2(4, 104));
  write("in/external.qcow2", qcow2(4, 0, 4));
  EXPECT_EQ(image_size(path("in/good.qcow2"), "qcow2").value(), 4 << 20);
  EXPECT_NE(image_size(path("in/backed.qcow2"), "qcow2").error().message.find("backing file"), std::string::npos);
  EXPECT_NE(image_size(path("in/external.qcow2"), "qcow2").error().message.find("another file"), std::string::npos);
  EXPECT_NE(image_size(path("in/raw.img"), "qcow2").error().message.find("isn't qcow2"), std::string::npos);
}

TEST_F(ParametersTest, WhatIsWrongIsNamed) {
  const json disks = {{{"size", "1GiB"}}};
  EXPECT_EQ(said({{"disks", disks}, {"cpu", 1.5}, {"memory", "256MiB"}, {"firmware", "uefi"}}), "");
  EXPECT_EQ(config_.cpus, 2);
  EXPECT_EQ(config_.memory_bytes, 256 << 20);
  EXPECT_TRUE(uefi_);
  EXPECT_NE(said(json::object()).find("'disks' is missing"), std::string::npos);
  EXPECT_NE(said({{"disks", disks}, {"firmware", "coreboot"}}).find("\"bios\" or \"uefi\""), std::string::npos);
  EXPECT_NE(said({{"disks", disks}, {"memory", "1MiB"}}).find("'memory' is \"1MiB\""), std::string::npos);
  EXPECT_NE(said({{"disks", disks}, {"command_line", "quiet"}}).find("'kernel'"), std::string::npos);
  EXPECT_NE(said({{"disks", disks}, {"cloud_init", {{"userdata", ""}}}}).find("cloud_init.userdata"), std::string::npos);
  EXPECT_NE(said({{"disks", {{{"image", path("in/raw.img")}, {"format", "raw"}, {"size", 1 << 19}}}}}).find("disks[0].size"),
      std::string::npos);
  EXPECT_NE(said({{"disks", disks}, {"memroy", 1}}).find("memory"), std::string::npos);
}

}  // namespace
}  // namespace harena::qemu
