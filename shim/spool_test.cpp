#include "shim/spool.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>

namespace harena::shim {
namespace {

class SpoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/harena-spool-XXXXXX";
    folder = ::mkdtemp(pattern);
    null = UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC));
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string text(Spool& spool) {
    std::string all(spool.kept(), '\0');
    EXPECT_EQ(::pread(spool.fd(), all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
    return all;
  }
  std::string path() const { return folder + "/out"; }

  std::string folder;
  UniqueFd null;
  SpoolBudget budget;
};

TEST_F(SpoolTest, NoByteNoFile) {
  Spool spool(path(), 100, budget, null.get());
  EXPECT_EQ(spool.fd(), -1);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(SpoolTest, KeepsUpToItsLimitAndCountsTheRest) {
  Spool spool(path(), 5, budget, null.get());
  spool.append("abc");
  spool.append("defg");
  spool.append("h");
  EXPECT_EQ(text(spool), "abcde");
  EXPECT_EQ(spool.total(), 8u);
  EXPECT_TRUE(spool.truncated());
  EXPECT_EQ(spool.limited_by(), "stream");
  EXPECT_EQ(budget.used, 5u);
}

TEST_F(SpoolTest, ALimitOfZeroKeepsNothing) {
  Spool spool(path(), 0, budget, null.get());
  spool.append("abc");
  EXPECT_EQ(spool.total(), 3u);
  EXPECT_EQ(spool.kept(), 0u);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(SpoolTest, TheBudgetIsAskedForRoomFirst) {
  budget.cap = 10;
  auto older = std::make_unique<Spool>(folder + "/older", 100, budget, null.get());
  older->append("1234567");
  budget.make_room = [&](std::uint64_t) { older.reset(); };
  Spool spool(path(), 100, budget, null.get());
  spool.append("abcdefgh");
  EXPECT_EQ(text(spool), "abcdefgh");
  EXPECT_FALSE(std::filesystem::exists(folder + "/older"));
}

TEST_F(SpoolTest, ByteNumbersStayThoseOfTheStreamOnceOneWasDropped) {
  budget.cap = 4;
  Spool spool(path(), 100, budget, null.get());
  spool.append("abcdef");
  EXPECT_EQ(spool.limited_by(), "sandbox");
  budget.cap = 100;  // room again: too late for this stream
  spool.append("gh");
  EXPECT_EQ(text(spool), "abcd");
  EXPECT_EQ(spool.total(), 8u);
}

TEST_F(SpoolTest, TakesAPipeToItsEndWithoutLoss) {
  std::array<int, 2> ends;
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  Spool spool(path(), 40'000, budget, null.get());
  EXPECT_EQ(spool.take(read_end.get(), 1 << 20), Spool::Took::nothing_now);
  std::string expected;
  for (int i = 0; i < 30; ++i) {
    std::string part(2000, static_cast<char>('a' + i % 26));
    ASSERT_EQ(::write(write_end.get(), part.data(), part.size()), 2000);
    expected += part;
    while (spool.take(read_end.get(), 1 << 20) == Spool::Took::some) {
    }
  }
  write_end.reset();
  EXPECT_EQ(spool.take(read_end.get(), 1 << 20), Spool::Took::end);
  EXPECT_EQ(text(spool), expected.substr(0, 40'000));
  EXPECT_EQ(spool.total(), 60'000u);
}

TEST_F(SpoolTest, AtRestItHoldsNoDescriptorAndIsReadAgain) {
  Spool spool(path(), 100, budget, null.get());
  spool.append("abc");
  spool.rest();
  EXPECT_EQ(text(spool), "abc");
}

TEST_F(SpoolTest, GivesItsBytesBack) {
  {
    Spool spool(path(), 100, budget, null.get());
    spool.append("abc");
  }
  EXPECT_EQ(budget.used, 0u);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(SpoolTest, AFolderThatCantBeWrittenIsAFullDisk) {
  Spool spool(folder + "/missing/out", 100, budget, null.get());
  spool.append("abc");
  EXPECT_EQ(spool.kept(), 0u);
  EXPECT_EQ(spool.total(), 3u);
  EXPECT_EQ(spool.limited_by(), "disk");
}

}  // namespace
}  // namespace harena::shim
