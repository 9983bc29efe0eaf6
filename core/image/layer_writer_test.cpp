#include "core/image/layer_writer.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "core/image/folder_reader.hpp"
#include "core/image/tar_reader.hpp"
#include "core/image/test_tar.hpp"

namespace harena::image {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

/// A capability set as setcap(8) writes it: cap_net_raw+ep, version 2.
const std::string kCapability("\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", 20);

class Layer : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "unpacking layers with their owners needs root";
  }
  /// Unpacks `tar` as the next layer; returns its folder.
  fs::path unpack(const std::string& tar) {
    const fs::path folder = folder_.path("layer" + std::to_string(tree_.layer() + 1));
    status_ = try_unpack(tar, folder);
    return folder;
  }
  Status try_unpack(const std::string& tar, const fs::path& folder) {
    fs::create_directory(folder);
    const Checkpoint go_on = [] { return ok_status(); };
    HARENA_TRY(auto reader, TarReader::open(UniqueFd(::open(tar.c_str(), O_RDONLY | O_CLOEXEC)), "the tar"));
    HARENA_TRY(auto writer, LayerWriter::create(folder, tree_, style_, 1 << 30));
    FileEntry entry;
    for (;;) {
      HARENA_TRY(const bool more, reader->next(entry));
      if (!more) break;
      HARENA_TRY_STATUS(writer.add(entry, *reader, go_on));
    }
    HARENA_TRY(report_, writer.finish());
    return ok_status();
  }
  static struct stat stat_of(const fs::path& path) {
    struct stat status{};
    EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
    return status;
  }
  static bool is_whiteout(const fs::path& path) {
    const auto status = stat_of(path);
    return S_ISCHR(status.st_mode) && status.st_rdev == 0;
  }
  static std::string xattr(const fs::path& path, const char* name) {
    char value[256];
    const auto size = ::lgetxattr(path.c_str(), name, value, sizeof value);
    return size < 0 ? "none" : std::string(value, static_cast<std::size_t>(size));
  }

  TestFolder folder_;
  std::string tar_ = folder_.path("t.tar");
  MergedTree tree_;
  WhiteoutStyle style_ = WhiteoutStyle::oci;
  LayerReport report_;
  Status status_;
};

TEST_F(Layer, KeepsOwnersModesTimesAndXattrs) {
  {
    TestTar tar(tar_);
    tar.folder("opt", {.mode = 01777, .uid = 5, .gid = 6, .mtime = 11});
    tar.file("opt/su", "x", {.mode = 06755, .uid = 1000, .gid = 70000, .mtime = 12, .xattrs = {{"security.capability", kCapability}, {"user.a", "b"}, {"security.selinux", "no"}, {"trusted.overlay.redirect", "/etc"}}});
    tar.file("opt/closed", "", {.mode = 0});
    tar.fifo("opt/pipe").symlink("opt/link", "/nowhere").hardlink("opt/su2", "opt/su");
  }
  const auto layer = unpack(tar_);
  ASSERT_TRUE(status_.ok()) << status_.error().describe();
  const auto file = stat_of(layer / "opt/su");
  EXPECT_EQ(file.st_mode, static_cast<mode_t>(S_IFREG | 06755));
  EXPECT_EQ(file.st_uid, 1000u);
  EXPECT_EQ(file.st_gid, 70000u);
  EXPECT_EQ(file.st_mtime, 12);
  EXPECT_EQ(file.st_nlink, 2u);
  EXPECT_EQ(file.st_ino, stat_of(layer / "opt/su2").st_ino);
  EXPECT_EQ(xattr(layer / "opt/su", "security.capability"), kCapability);
  EXPECT_EQ(xattr(layer / "opt/su", "user.a"), "b");
  EXPECT_EQ(xattr(layer / "opt/su", "trusted.overlay.redirect"), "none");
  EXPECT_GE(report_.xattrs_left_out, 2);
  const auto folder = stat_of(layer / "opt");
  EXPECT_EQ(folder.st_mode, static_cast<mode_t>(S_IFDIR | 01777));
  EXPECT_EQ(folder.st_mtime, 11);
  EXPECT_EQ(stat_of(layer / "opt/closed").st_mode, static_cast<mode_t>(S_IFREG));
  EXPECT_TRUE(S_ISFIFO(stat_of(layer / "opt/pipe").st_mode));
  EXPECT_EQ(fs::read_symlink(layer / "opt/link"), "/nowhere");
}

TEST_F(Layer, NamesOfAnyBytesInEveryFormat) {
  const std::string names[] = {"\xff\xfe-latin", "\xE6\x96\x87\xE4\xBB\xB6 \"a'b.txt", "new\nline", std::string(255, 'l'), "-rf", "\xff" + std::string(200, 'x')};
  for (const int format : {ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE, ARCHIVE_FORMAT_TAR_GNUTAR}) {
    {
      TestTar tar(tar_, ARCHIVE_FILTER_NONE, format);
      for (const auto& name : names) tar.file("d/" + name, name);
    }
    const auto layer = unpack(tar_);
    ASSERT_TRUE(status_.ok()) << status_.error().describe();
    for (const auto& name : names) EXPECT_EQ(read_file(layer / "d" / name), name) << format;
  }
}

TEST_F(Layer, DevicesAreLeftOutAndCounted) {
  TestTar(tar_).device("dev/sda", ::makedev(8, 0)).device("dev/zero", ::makedev(1, 5)).file("dev/shm", "x");
  const auto layer = unpack(tar_);
  ASSERT_TRUE(status_.ok());
  EXPECT_EQ(report_.devices_left_out, 2);
  EXPECT_FALSE(fs::exists(layer / "dev/sda"));
  EXPECT_TRUE(fs::exists(layer / "dev/shm"));
}

TEST_F(Layer, WhiteoutsBecomeOverlayfss) {
  TestTar(tar_).file("a/f", "1").file("a/g", "1").file("b/x", "1").file("c/y/z", "1").file("e", "1");
  unpack(tar_);
  ASSERT_TRUE(status_.ok());
  TestTar(tar_).file("a/.wh.f", "").file("a/.wh.nothing", "").file("b/.wh..wh..opq", "").file("b/new", "2")
      .file(".wh.c", "").folder("c").file("c/own", "2").file(".wh.e", "").file("e", "again").file(".wh..wh.plnk", "");
  const auto layer = unpack(tar_);
  ASSERT_TRUE(status_.ok()) << status_.error().describe();
  EXPECT_TRUE(is_whiteout(layer / "a/f"));
  EXPECT_FALSE(fs::exists(fs::symlink_status(layer / "a/nothing")));
  EXPECT_FALSE(fs::exists(fs::symlink_status(layer / "a/.wh.nothing")));
  EXPECT_EQ(xattr(layer / "b", "trusted.overlay.opaque"), "y");
  EXPECT_EQ(read_file(layer / "b/new"), "2");
  EXPECT_EQ(xattr(layer / "c", "trusted.overlay.opaque"), "y");
  EXPECT_EQ(read_file(layer / "c/own"), "2");
  EXPECT_EQ(read_file(layer / "e"), "again");
  EXPECT_FALSE(fs::exists(fs::symlink_status(layer / ".wh..wh.plnk")));
}

TEST_F(Layer, AWhiteoutAfterTheNewFolderMakesItOpaque) {
  TestTar(tar_).file("c/old", "1");
  unpack(tar_);
  TestTar(tar_).folder("c").file("c/new", "2").file(".wh.c", "").file("c/.wh.new", "");
  const auto layer = unpack(tar_);
  ASSERT_TRUE(status_.ok());
  EXPECT_EQ(xattr(layer / "c", "trusted.overlay.opaque"), "y");
  EXPECT_EQ(read_file(layer / "c/new"), "2");
}

TEST_F(Layer, FilesBehindALowerLayersLinkGoToTheirRealPlace) {
  TestTar(tar_).folder("usr").folder("usr/bin", {.mode = 0711, .uid = 3, .mtime = 77}).symlink("bin", "usr/bin");
  unpack(tar_);
  TestTar(tar_).file("bin/tool", "x");
  const auto layer = unpack(tar_);
  ASSERT_TRUE(status_.ok());
  EXPECT_EQ(read_file(layer / "usr/bin/tool"), "x");
  EXPECT_FALSE(fs::exists(fs::symlink_status(layer / "bin")));
  EXPECT_EQ(stat_of(layer / "usr/bin").st_mode & 07777, 0711u);
  EXPECT_EQ(stat_of(layer / "usr/bin").st_uid, 3u);
  EXPECT_EQ(stat_of(layer / "usr/bin").st_mtime, 77);
}

TEST_F(Layer, LaterEntriesWin) {
  TestTar(tar_).file("a", "1").file("a", "2").folder("d").file("d/x", "1").file("d", "file").symlink("s", "d").folder("s").file("s/y", "3");
  const auto layer = unpack(tar_);
  ASSERT_TRUE(status_.ok()) << status_.error().describe();
  EXPECT_EQ(read_file(layer / "a"), "2");
  EXPECT_EQ(read_file(layer / "d"), "file");
  EXPECT_EQ(read_file(layer / "s/y"), "3");
}

TEST_F(Layer, HostileArchivesDoNotLeadOut) {
  const auto outside = folder_.path("outside");
  fs::create_directory(outside);
  write_file(outside + "/victim", "safe");
  {
    TestTar tar(tar_);
    tar.symlink("up", "../outside").file("up/victim", "evil").symlink("abs", outside).file("abs/victim", "evil");
    tar.symlink("root", "/").file("root/etc/x", "evil").symlink("self", "up").file("self/deeper", "evil");
    tar.symlink("etc2", "/etc").hardlink("h", "root/etc/x").file("victim2", "mine").symlink("victim2", outside + "/victim").file("victim2", "again");
  }
  const auto layer = unpack(tar_);
  ASSERT_TRUE(status_.ok()) << status_.error().describe();
  EXPECT_EQ(read_file(outside + "/victim"), "safe");
  EXPECT_EQ(std::distance(fs::directory_iterator(outside), {}), 1);
  EXPECT_EQ(read_file(layer / "outside/victim"), "evil");
  EXPECT_EQ(read_file(layer / "victim2"), "again");
  EXPECT_EQ(read_file(layer / "h"), "evil");
}

TEST_F(Layer, HostileNamesAreRefusedByName) {
  const std::pair<std::string, std::string> cases[] = {{"../../evil", "lead out"}, {"a/../../evil", "lead out"}};
  for (const auto& [name, says] : cases) {
    TestTar(tar_).file(name, "x");
    unpack(tar_);
    ASSERT_FALSE(status_.ok()) << name;
    EXPECT_EQ(status_.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(status_.error().message, HasSubstr(says));
  }
  TestTar(tar_).hardlink("passwd", "../../../../etc/passwd");
  unpack(tar_);
  EXPECT_THAT(status_.error().describe(), HasSubstr("entry 'passwd'"));
  TestTar(tar_).hardlink("passwd", "/etc/passwd");
  unpack(tar_);
  EXPECT_THAT(status_.error().message, HasSubstr("isn't a file of this layer"));
  TestTar(tar_).file(".wh...", "");
  unpack(tar_);
  EXPECT_THAT(status_.error().message, HasSubstr("names nothing"));
}

TEST_F(Layer, HolesStayHoles) {
  const auto big = folder_.path("sparse");
  const UniqueFd fd(::open(big.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  ASSERT_EQ(::pwrite(fd.get(), "end", 3, 50'000'000), 3);
  const auto source = folder_.path("source");
  fs::create_directory(source);
  fs::rename(big, source + "/sparse");
  const auto target = folder_.path("target");
  fs::create_directory(target);
  auto reader = FolderReader::open(source);
  auto writer = LayerWriter::create(target, tree_, WhiteoutStyle::overlayfs, 1 << 30);
  FileEntry entry;
  while (*(*reader)->next(entry)) ASSERT_TRUE(writer->add(entry, **reader, [] { return ok_status(); }).ok());
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_EQ(stat_of(target + "/sparse").st_size, 50'000'003);
  EXPECT_LT(stat_of(target + "/sparse").st_blocks * 512, 1'000'000);
}

TEST_F(Layer, BrokenArchivesAreDataLoss) {
  TestTar(tar_, ARCHIVE_FILTER_GZIP).file("a", std::string(100'000, 'a') + std::string(1000, 'b'));
  const auto whole = read_file(tar_);
  write_file(tar_, whole.substr(0, whole.size() / 2));
  unpack(tar_);
  EXPECT_EQ(status_.error().code, ErrorCode::data_loss);
  write_file(tar_, std::string(2000, 'z'));
  unpack(tar_);
  EXPECT_EQ(status_.error().code, ErrorCode::data_loss);
}

TEST_F(Layer, AnUpperFolderKeepsItsWhiteouts) {
  style_ = WhiteoutStyle::overlayfs;
  TestTar(tar_).device("gone", 0).folder("o", {.mode = 0755, .xattrs = {{"trusted.overlay.opaque", "y"}}}).file(".wh.literal", "x");
  const auto layer = unpack(tar_);
  ASSERT_TRUE(status_.ok()) << status_.error().describe();
  EXPECT_TRUE(is_whiteout(layer / "gone"));
  EXPECT_EQ(xattr(layer / "o", "trusted.overlay.opaque"), "y");
  EXPECT_EQ(read_file(layer / ".wh.literal"), "x");
}

}  // namespace
}  // namespace harena::image
