#include "sdk/vmm/file_copies.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "sdk/vmm/qcow2_file.hpp"

namespace harena::vmm {
namespace {

namespace fs = std::filesystem;

class FileCopies : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/file_copies_XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void put(const std::string& name, const std::string& bytes) const { std::ofstream(path(name), std::ios::binary) << bytes; }
  std::string get(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string folder_;
};

TEST_F(FileCopies, HolesStayHoles) {
  put("sparse", "begin");
  fs::resize_file(path("sparse"), 4 << 20);
  ASSERT_TRUE(copy_sparse_file(path("sparse"), path("copy")).ok());
  EXPECT_EQ(fs::file_size(path("copy")), 4u << 20);
  struct stat info{};
  ASSERT_EQ(::stat(path("copy").c_str(), &info), 0);
  EXPECT_LE(info.st_blocks * 512, 64 << 10);
  EXPECT_EQ(get("copy"), get("sparse"));
}

TEST_F(FileCopies, ACloneIsAFileOfItsOwn) {
  put("a", "before");
  ASSERT_TRUE(clone_file(path("a"), path("b")).ok());
  put("a", "after");
  EXPECT_EQ(get("b"), "before");
  ASSERT_TRUE(link_or_copy(path("a"), path("c")).ok());
  EXPECT_EQ(fs::hard_link_count(path("c")), 2u);
}

TEST_F(FileCopies, NothingIsReplacedAndNothingHalfMadeStays) {
  put("a", "a");
  put("b", "b");
  EXPECT_EQ(clone_file(path("a"), path("b")).error().code, ErrorCode::already_exists);
  EXPECT_EQ(get("b"), "b");
  EXPECT_FALSE(copy_sparse_file(path("none"), path("c")).ok());
  EXPECT_FALSE(fs::exists(path("c")));
  EXPECT_FALSE(copy_sparse_file(folder_, path("c")).ok());  // a folder can be opened, not read
  EXPECT_FALSE(fs::exists(path("c")));
}

TEST_F(FileCopies, AnOverlayIsOfAWholeNumberOfSectors) {
  EXPECT_TRUE(make_qcow2_overlay(path("o"), 4 << 20).ok());
  EXPECT_EQ(make_qcow2_overlay(path("o"), 4 << 20).error().code, ErrorCode::already_exists);
  for (std::int64_t bytes : {std::int64_t{0}, std::int64_t{-512}, std::int64_t{1000}, std::int64_t{9} << 40}) {
    EXPECT_EQ(make_qcow2_overlay(path("p"), bytes).error().code, ErrorCode::invalid_argument) << bytes;
  }
  EXPECT_EQ(get("o").substr(0, 4), "QFI\xfb");
}

/// No file of this process grows above the limit: as on a disk that is full.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : before_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &limit_);
    const rlimit small{bytes, limit_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &limit_);
    ::signal(SIGXFSZ, before_);
  }

 private:
  rlimit limit_{};
  sighandler_t before_;
};

TEST_F(FileCopies, WithoutRoomNoFileStays) {
  put("a", std::string(8192, 'a'));
  FullDisk full(4096);
  EXPECT_FALSE(make_qcow2_overlay(path("o"), 64 << 20).ok());
  EXPECT_FALSE(copy_sparse_file(path("a"), path("c")).ok());
  EXPECT_FALSE(fs::exists(path("o")) || fs::exists(path("c")));
}

}  // namespace
}  // namespace harena::vmm
