// Changed pages of a process that maps a file privately: this one.

#include "plugins/microvm/machine/ram_delta.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "sdk/base/unique_fd.hpp"
#include "sdk/vmm/file_copies.hpp"

namespace harena::microvm {
namespace {

constexpr std::int64_t kPages = 64;
constexpr std::int64_t kBytes = kPages * kPageBytes;

class RamDelta : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) GTEST_SKIP() << "needs root: pagemap tells others nothing";
    char name[] = "/tmp/harena-ram-XXXXXX";
    folder_ = ::mkdtemp(name);
    std::ofstream(folder_ + "/ram") << std::string(kBytes, 'r');
    memory_ = map();
  }
  void TearDown() override {
    if (folder_.empty()) return;
    ::munmap(memory_, kBytes);
    std::filesystem::remove_all(folder_);
  }
  char* map() {
    UniqueFd file(::open((folder_ + "/ram").c_str(), O_RDWR | O_CLOEXEC));
    return static_cast<char*>(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.get(), 0));
  }
  void write_page(std::int64_t page, char what) { std::memset(memory_ + page * kPageBytes, what, kPageBytes); }
  std::uint64_t address() { return reinterpret_cast<std::uint64_t>(memory_); }
  std::string delta() { return folder_ + "/delta"; }

  std::string folder_;
  char* memory_ = nullptr;
};

TEST_F(RamDelta, FindsTheMappingByItsFile) {
  auto found = find_ram_mapping(::getpid(), folder_ + "/ram", kBytes);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(*found, address());
  EXPECT_EQ(find_ram_mapping(::getpid(), folder_ + "/ram", kBytes * 2).error().code, ErrorCode::not_found);
}

TEST_F(RamDelta, FindsWhatWasWrittenAndNotWhatWasRead) {
  volatile char sink = memory_[5 * kPageBytes];
  (void)sink;
  for (std::int64_t page : {0, 7, 8, 63}) write_page(page, 'x');
  auto pages = own_pages(::getpid(), address(), kBytes);
  ASSERT_TRUE(pages.ok());
  EXPECT_EQ(*pages, (PageList{0, 7, 8, 63}));
}

TEST_F(RamDelta, AnotherMappingBecomesTheSame) {
  for (std::int64_t page : {3, 4, 5, 40}) write_page(page, static_cast<char>('a' + page % 26));
  auto pages = own_pages(::getpid(), address(), kBytes);
  ASSERT_TRUE(pages.ok());
  ASSERT_TRUE(write_delta(delta(), ::getpid(), address(), kBytes, *pages).ok());
  EXPECT_EQ(delta_size(delta())->pages, 4);
  char* other = map();
  ASSERT_TRUE(apply_delta(delta(), ::getpid(), reinterpret_cast<std::uint64_t>(other), kBytes).ok());
  EXPECT_EQ(std::memcmp(other, memory_, kBytes), 0);
  ::munmap(other, kBytes);
  // The file itself never changed; a merged copy has it all.
  ASSERT_TRUE(vmm::copy_sparse_file(folder_ + "/ram", folder_ + "/merged").ok());
  ASSERT_TRUE(merge_delta(delta(), folder_ + "/merged").ok());
  std::ifstream merged(folder_ + "/merged"), frozen(folder_ + "/ram");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(merged), {}), std::string(memory_, kBytes));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(frozen), {}), std::string(kBytes, 'r'));
}

TEST_F(RamDelta, AFileOfOthersIsRefused) {
  write_page(2, 'x');
  ASSERT_TRUE(write_delta(delta(), ::getpid(), address(), kBytes, {2}).ok());
  EXPECT_EQ(apply_delta(delta(), ::getpid(), address(), kBytes / 2).error().code, ErrorCode::failed_precondition);
  std::fstream file(delta(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(32);  // the first index
  const std::uint64_t beyond = kPages;
  file.write(reinterpret_cast<const char*>(&beyond), sizeof beyond);
  file.close();
  EXPECT_EQ(delta_size(delta()).error().code, ErrorCode::data_loss);
  std::filesystem::resize_file(delta(), 20);
  EXPECT_EQ(delta_size(delta()).error().code, ErrorCode::data_loss);
}

TEST_F(RamDelta, HolesOfAFileOfChangesAreWhatStayed) {
  UniqueFd changes(::open((folder_ + "/changes").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::ftruncate(changes.get(), kBytes), 0);
  const std::string zeros(kPageBytes, '\0'), other(kPageBytes, 'n');
  ASSERT_EQ(::pwrite(changes.get(), zeros.data(), zeros.size(), 3 * kPageBytes), kPageBytes);  // a page that became zeros is a change
  ASSERT_EQ(::pwrite(changes.get(), other.data(), other.size(), 63 * kPageBytes), kPageBytes);
  ASSERT_TRUE(delta_of_changes(delta(), folder_ + "/changes", kBytes).ok());
  EXPECT_EQ(delta_size(delta())->pages, 2);
  ASSERT_TRUE(merge_delta(delta(), folder_ + "/ram").ok());
  std::ifstream file(folder_ + "/ram");
  const std::string ram((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(ram.substr(2 * kPageBytes, kPageBytes), std::string(kPageBytes, 'r'));
  EXPECT_EQ(ram.substr(3 * kPageBytes, kPageBytes), zeros);
  EXPECT_EQ(ram.substr(63 * kPageBytes), other);
}

TEST_F(RamDelta, AFileOfChangesOfAnotherLengthIsRefused) {
  std::ofstream(folder_ + "/changes") << "short";
  const auto made = delta_of_changes(delta(), folder_ + "/changes", kBytes);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("5 bytes long"), std::string::npos) << made.error().message;
  EXPECT_FALSE(std::filesystem::exists(delta()));
}

}  // namespace
}  // namespace harena::microvm
