// Disks that are ready: taken by creates, bounded, given back, and gone with whoever dies.

#include "plugins/container/disk_pool.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "plugins/container/tests/container_case.hpp"
#include "sdk/support/process.hpp"

namespace harena::container::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kPatienceNs = 60'000'000'000;
constexpr milliseconds kLong{600'000};

/// Devices whose image is in the folder.
std::size_t loops_of(const fs::path& folder) {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator("/sys/block")) count += read_text(entry.path() / "loop/backing_file").starts_with(folder.string());
  return count;
}

template <class Condition>
bool eventually(Condition condition) {
  const std::int64_t deadline = monotonic_now_ns() + kPatienceNs;
  while (!condition() && monotonic_now_ns() < deadline) ::usleep(2000);
  return condition();
}

class ReadyDisks : public ContainerCase {
 protected:
  void SetUp() override {
    ContainerCase::SetUp();
    std::string name = (fs::temp_directory_path() / "harena-disks-XXXXXX").string();
    if (!IsSkipped() && ::mkdtemp(name.data()) != nullptr) folder_ = name;
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }
  fs::path folder_;
};

TEST_F(ReadyDisks, AreTakenByTheNextCreateOfTheirSize) {
  backend_ = std::make_unique<Backend>(json{{"ready_disks", 2}});
  const fs::path here = backend_->folder();
  made();
  EXPECT_EQ(loops_of(here), 0u) << "nobody wanted one yet";
  const std::string first = made({{"disk", "16MiB"}});
  EXPECT_EQ(last_["details"]["ready_disk"], false);
  ASSERT_TRUE(eventually([&] { return loops_of(here) == 3; })) << "the sandbox's, and two that are ready";
  const std::string second = made({{"disk", "16MiB"}});
  EXPECT_EQ(last_["details"]["ready_disk"], true);
  EXPECT_EQ(backend_->shell(second, "echo kept > /f; cat /f; df -k / | tail -n 1 | { read a total b; [ $total -lt 17000 ] && echo small; }").output, "kept\nsmall\n");
  EXPECT_EQ(backend_->shell(first, "ls /f").exit, 1) << "nobody else's";
  const std::string other = made({{"disk", "48MiB"}});
  EXPECT_EQ(last_["details"]["ready_disk"], false) << "another size";
  EXPECT_EQ(backend_->shell(other, "df -k / | tail -n 1 | { read a total b; [ $total -ge 49152 ] && echo large; }").output, "large\n");
  for (const auto& id : {first, second, other}) EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
  EXPECT_TRUE(eventually([&] { return loops_of(here) <= 2; }));
  backend_.reset();
  EXPECT_TRUE(eventually([&] { return loops_of(here) == 0; })) << "they end with their daemon";
}

TEST_F(ReadyDisks, FullAndOutOfInodesAsAnyOther) {
  backend_ = std::make_unique<Backend>(json{{"ready_disks", 1}});
  const json params = {{"disk", "16MiB"}, {"inodes", 300}, {"memory", "32MiB"}};
  EXPECT_EQ(backend_->stop(made(params)).status, HARENA_OK);
  ASSERT_TRUE(eventually([&] { return loops_of(backend_->folder()) == 1; }));
  const std::string id = made(params);
  ASSERT_EQ(last_["details"]["ready_disk"], true);
  const auto full = backend_->shell(id, "dd if=/dev/zero of=/fill bs=1M count=100; rm /fill; i=0; while [ $i -lt 400 ]; do echo > /n$i || break; i=$((i+1)); done; echo made $i");
  EXPECT_NE(full.output.find("No space left on device"), std::string::npos) << full.output;
  EXPECT_EQ(full.output.find("made 400"), std::string::npos) << full.output;
  EXPECT_EQ(backend_->usage(id).result.value("oom_kills", -1), 0);
}

TEST_F(ReadyDisks, CanBeSnapshotted) {
  backend_ = std::make_unique<Backend>(json{{"ready_disks", 1}});
  const json params = {{"disk", "16MiB"}};
  made(params);
  ASSERT_TRUE(eventually([&] { return loops_of(backend_->folder()) == 2; }));
  const std::string id = made(params);
  ASSERT_EQ(last_["details"]["ready_disk"], true);
  ASSERT_EQ(backend_->shell(id, "echo kept > /f").exit, 0);
  const auto taken = backend_->snapshot(id, "ready-snapshot");
  ASSERT_EQ(taken.status, HARENA_OK) << taken.message;
  const std::string copy = new_id();
  const auto restored = backend_->restore(copy, taken.result["state"], params);
  ASSERT_EQ(restored.status, HARENA_OK) << restored.message;
  EXPECT_EQ(backend_->shell(copy, "cat /f").output, "kept\n");
}

TEST_F(ReadyDisks, AreBoundedOverAllSizesTogether) {
  DiskImages images;
  if (!images.available()) GTEST_SKIP() << "no mke2fs";
  DiskPool pool(images, 4, kLong);
  std::size_t most = 0;
  for (int round = 0; round < 3; ++round) {
    for (const std::int64_t bytes : {16 * kMiB, 17 * kMiB, 18 * kMiB, 19 * kMiB, 20 * kMiB}) {
      (void)pool.take(bytes, 0, folder_.string());
      most = std::max(most, pool.ready());
    }
  }
  EXPECT_TRUE(eventually([&] { return pool.ready() == 4; }));
  EXPECT_LE(std::max(most, loops_of(folder_)), 5u) << "one may be on its way";
  EXPECT_TRUE(pool.take(20 * kMiB, 0, folder_.string()).has_value()) << "the last one is among them";
  EXPECT_FALSE(pool.take(16 * kMiB, 0, folder_.string()).has_value()) << "the first isn't";
}

TEST_F(ReadyDisks, AreGivenBackWhenNobodyWantsThem) {
  DiskImages images;
  if (!images.available()) GTEST_SKIP() << "no mke2fs";
  DiskPool pool(images, 2, milliseconds(1));
  (void)pool.take(16 * kMiB, 0, folder_.string());
  EXPECT_TRUE(eventually([&] { return pool.ready() == 0 && loops_of(folder_) == 0; }));
}

TEST_F(ReadyDisks, NoneAreMadeWhereNoneAreWanted) {
  DiskImages images;
  DiskPool pool(images, 0, kLong);
  EXPECT_FALSE(pool.take(16 * kMiB, 0, folder_.string()).has_value());
  EXPECT_EQ(pool.ready(), 0u);
}

/// Killed with disks that are ready, and while others are being made: the kernel takes all of it.
TEST_F(ReadyDisks, GoWithWhoeverDies) {
  for (const std::size_t killed_at : {0u, 1u, 3u}) {
    const pid_t child = ::fork();
    if (child == 0) {
      DiskImages images;
      DiskPool pool(images, 3, kLong);
      (void)pool.take(16 * kMiB, 0, folder_.string());
      while (pool.ready() < killed_at) ::usleep(100);
      ::raise(SIGKILL);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    EXPECT_TRUE(eventually([&] { return loops_of(folder_) == 0; })) << killed_at;
    EXPECT_TRUE(fs::is_empty(folder_)) << "no file has a name";
  }
}

/// No assertion: what it is worth, for docs/limits.md.
TEST_F(ReadyDisks, Account) {
  for (const int ready : {0, 4}) {
    backend_ = std::make_unique<Backend>(json{{"ready_disks", ready}});
    EXPECT_EQ(backend_->stop(made({{"disk", "64MiB"}})).status, HARENA_OK);
    std::vector<double> with, without;
    for (int i = 0; i < 15; ++i) {
      if (ready > 0) eventually([&] { return loops_of(backend_->folder()) >= 4; });
      for (const bool disk : {true, false}) {
        const std::int64_t began = monotonic_now_ns();
        const std::string id = made(disk ? json{{"disk", "64MiB"}} : json::object());
        (disk ? with : without).push_back(static_cast<double>(monotonic_now_ns() - began) / 1e6);
        EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
      }
    }
    std::sort(with.begin(), with.end());
    std::sort(without.begin(), without.end());
    std::printf("ready_disks %d: create with a disk %.2f ms, without %.2f ms (medians of %zu)\n", ready, with[with.size() / 2], without[without.size() / 2], with.size());
    backend_.reset();
  }
}

}  // namespace
}  // namespace harena::container::testing
