// tar_pack and tar_unpack, against each other and against archives that nobody should trust.
#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "core/cli/tar_pack.hpp"
#include "core/cli/tar_unpack.hpp"
#include "sdk/client/retry.hpp"

namespace harena::cli {
namespace {

namespace fs = std::filesystem;

class TarTest : public testing::Test {
 protected:
  TarTest() {
    std::string pattern = testing::TempDir() + "cli_tar.XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    fs::create_directories(folder_ / "in");
  }
  ~TarTest() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / "in" / name) << text; }

  std::string pack() {
    const auto entries = walk(folder_ / "in").value();
    const auto packer = TarPacker::open(entries, meter_).value_or(nullptr);
    std::string all;
    std::string piece(777, '\0');
    while (true) {
      const auto count = packer->read(piece.data(), piece.size());
      EXPECT_TRUE(count.ok()) << count.error().message;
      if (!count.ok() || *count == 0) return all;
      all.append(piece, 0, *count);
    }
  }
  Status unpack(std::string_view bytes) {
    const auto tree = LocalTree::open(folder_ / "out");
    HARENA_TRY(const auto unpacker, TarUnpacker::start(*tree, meter_));
    for (; !bytes.empty(); bytes.remove_prefix(std::min<std::size_t>(bytes.size(), 1000))) {
      HARENA_TRY_STATUS(unpacker->write(bytes.substr(0, 1000)));
    }
    return unpacker->finish();
  }
  std::string read(const std::string& name) {
    std::ifstream in(folder_ / "out" / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path folder_;
  TransferMeter meter_{false};
};

TEST_F(TarTest, WhatIsPackedComesBack) {
  const std::string odd = "odd \xff\n'\xe6\x96\x87 name", large(3'000'000, 'x'), deep(200, 'd');
  write("large", large);
  write(odd, "odd");
  write("empty", "");
  fs::create_directories(folder_ / "in" / deep / deep);
  write(deep + "/" + deep + "/f", "deep");
  fs::permissions(folder_ / "in/large", fs::perms(0751));
  fs::create_hard_link(folder_ / "in/large", folder_ / "in/same");
  fs::create_symlink("no where", folder_ / "in/link");
  fs::create_directory(folder_ / "in/closed");
  write("closed/f", "x");
  fs::permissions(folder_ / "in/closed", fs::perms(0555));
  const auto status = unpack(pack());
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(read("large"), large);
  EXPECT_EQ(read(odd), "odd");
  EXPECT_EQ(read(deep + "/" + deep + "/f"), "deep");
  EXPECT_TRUE(fs::equivalent(folder_ / "out/large", folder_ / "out/same"));
  EXPECT_EQ(fs::read_symlink(folder_ / "out/link"), "no where");
  EXPECT_EQ(fs::status(folder_ / "out/large").permissions(), fs::perms(0751));
  EXPECT_EQ(fs::status(folder_ / "out/closed").permissions(), fs::perms(0555));
  EXPECT_EQ(meter_.files(), 2 * 6);
  ASSERT_TRUE(unpack(pack()).ok());  // over what is there
  EXPECT_TRUE(fs::equivalent(folder_ / "out/large", folder_ / "out/same"));
}

TEST_F(TarTest, AttributesOfUsersAreKept) {
  write("f", "x");
  if (::setxattr((folder_ / "in/f").c_str(), "user.origin", "a\0b", 3, 0) != 0) GTEST_SKIP() << "this file system has no user attributes";
  ASSERT_TRUE(unpack(pack()).ok());
  std::string value(10, '\0');
  value.resize(static_cast<std::size_t>(::getxattr((folder_ / "out/f").c_str(), "user.origin", value.data(), value.size())));
  EXPECT_EQ(value, std::string("a\0b", 3));
}

/// An archive of one entry, as a sandbox might make it.
std::string archive_with(const char* name, unsigned type, const char* link, const char* second = nullptr) {
  std::string made(64 * 1024, '\0');
  std::size_t used = 0;
  auto* const writer = ::archive_write_new();
  ::archive_write_set_format_pax(writer);
  ::archive_write_open_memory(writer, made.data(), made.size(), &used);
  for (const char* path : {name, second}) {
    if (path == nullptr) break;
    auto* const entry = ::archive_entry_new();
    ::archive_entry_set_pathname(entry, path);
    ::archive_entry_set_perm(entry, 0644);
    ::archive_entry_set_filetype(entry, path == name ? type : static_cast<unsigned>(AE_IFREG));
    if (path == name && type == AE_IFLNK) ::archive_entry_set_symlink(entry, link);
    if (path == name && type == AE_IFREG && link != nullptr) ::archive_entry_set_hardlink(entry, link);
    if (path == second || (type == AE_IFREG && link == nullptr)) ::archive_entry_set_size(entry, 4);
    ::archive_write_header(writer, entry);
    ::archive_write_data(writer, "evil", 4);
    ::archive_entry_free(entry);
  }
  ::archive_write_close(writer);
  ::archive_write_free(writer);
  made.resize(used);
  return made;
}

TEST_F(TarTest, NothingLeavesTheFolder) {
  fs::create_directory(folder_ / "outside");
  std::ofstream(folder_ / "outside/secret") << "s";
  const auto outside = (folder_ / "outside").string();
  EXPECT_FALSE(unpack(archive_with("../outside/x", AE_IFREG, nullptr)).ok());
  EXPECT_FALSE(unpack(archive_with((outside + "/x").c_str(), AE_IFREG, nullptr)).ok());
  EXPECT_FALSE(unpack(archive_with("a/../../outside/x", AE_IFREG, nullptr)).ok());
  EXPECT_FALSE(unpack(archive_with("hard", AE_IFREG, "../outside/secret")).ok());
  EXPECT_FALSE(unpack(archive_with("link", AE_IFLNK, outside.c_str(), "link/x")).ok());
  EXPECT_FALSE(unpack(archive_with("pipe", AE_IFIFO, nullptr)).ok());
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& one : fs::directory_iterator(folder_ / "outside")) ++count;
  EXPECT_EQ(count, 1U);
}

TEST_F(TarTest, WhatWasCutOffIsNoWholeArchive) {
  write("a", std::string(5000, 'a'));
  write("b", "b");
  const auto whole = pack();
  ASSERT_TRUE(unpack(whole).ok());
  for (std::size_t size = 0; size < whole.size(); size += 512) {
    const auto status = unpack(std::string_view(whole).substr(0, size));
    ASSERT_FALSE(status.ok()) << size;
    EXPECT_EQ(status.error().cause_detail, client::kConnectionLost) << size;
  }
  EXPECT_FALSE(unpack(std::string(10'000, 'x')).ok());
}

/// One block of a ustar header.
std::string header(const std::string& name, char type, std::size_t size) {
  std::string block(512, '\0');
  block.replace(0, name.size(), name);
  block.replace(100, 7, "0000644");
  char octal[12];
  std::snprintf(octal, sizeof octal, "%011zo", size);
  block.replace(124, 11, octal);
  block.replace(136, 11, "00000000000");
  block[156] = type;
  block.replace(257, 8, std::string("ustar\0" "00", 8));
  block.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char byte : block) sum += static_cast<unsigned char>(byte);
  std::snprintf(octal, sizeof octal, "%06o", sum);
  block.replace(148, 7, std::string(octal, 7));
  return block;
}

// A terabyte, of which the last four bytes are there: what a sandbox may well send.
TEST_F(TarTest, HolesStayHoles) {
  constexpr std::int64_t kSize = std::int64_t{1} << 40;
  std::string fields;
  for (const auto& field : {"GNU.sparse.size=" + std::to_string(kSize), std::string("GNU.sparse.numblocks=1"),
                            "GNU.sparse.map=" + std::to_string(kSize - 4) + ",4"}) {
    const auto length = field.size() + 4;  // " " and "\n" and two digits
    fields += std::to_string(length) + " " + field + "\n";
  }
  std::string made = header("pax", 'x', fields.size()) + fields;
  made.resize((made.size() + 511) / 512 * 512);
  made += header("sparse", '0', 4) + "data";
  made.resize((made.size() + 511) / 512 * 512 + 1024);
  const auto status = unpack(made);
  ASSERT_TRUE(status.ok()) << status.error().message;
  struct stat info {};
  ASSERT_EQ(::stat((folder_ / "out/sparse").c_str(), &info), 0);
  EXPECT_EQ(info.st_size, kSize);
  EXPECT_LT(info.st_blocks, 1000);
}

}  // namespace
}  // namespace harena::cli
