#include "plugins/imagestore-local/blob_folder.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include "plugins/imagestore-local/test_support.hpp"
#include "sdk/digest/sha256.hpp"

namespace harena::imagestore {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Blobs : public ::testing::Test {
 protected:
  TestFolder folder_;
  std::unique_ptr<LocalStore> store_ = open_store(folder_.path("s"));
  std::size_t unfinished() const { return count_in(folder_.path("s/tmp")); }
};

TEST_F(Blobs, PutIsIdempotentAndReadOnly) {
  const auto digest = put_text(*store_, "hello");
  EXPECT_EQ(digest, "sha256:" + sha256_hex("hello"));
  struct stat before{};
  ASSERT_EQ(::stat(store_->path_of(digest).c_str(), &before), 0);
  EXPECT_EQ(before.st_mode & 07777, 0400u);
  EXPECT_EQ(before.st_nlink, 1u);
  EXPECT_EQ(put_text(*store_, "hello"), digest);
  struct stat after{};
  ASSERT_EQ(::stat(store_->path_of(digest).c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(unfinished(), 0u);
}

TEST_F(Blobs, TakesAPipeToItsEnd) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  const std::string bytes(3 << 20, 'x');
  std::thread writer([end = UniqueFd(ends[1]), &bytes] { (void)write_all(end.get(), bytes, "pipe"); });
  const auto blob = store_->put("", reader.get(), go_on);
  writer.join();
  ASSERT_TRUE(blob.ok());
  EXPECT_EQ(blob->size, 3 << 20);
  EXPECT_EQ(blob->digest, "sha256:" + sha256_hex(bytes));
}

TEST_F(Blobs, ReadsARegularFileFromItsStartAndLeavesItsOffset) {
  const auto file = memory_file("hello");
  ::lseek(file.get(), 3, SEEK_SET);
  EXPECT_EQ(store_->put("", file.get(), go_on)->digest, "sha256:" + sha256_hex("hello"));
  EXPECT_EQ(::lseek(file.get(), 0, SEEK_CUR), 3);
}

TEST_F(Blobs, AnotherDigestThanExpectedIsDataLossAndStoresNothing) {
  const auto file = memory_file("hello");
  const auto wrong = store_->put("sha256:" + std::string(64, '0'), file.get(), go_on);
  EXPECT_EQ(wrong.error().code, ErrorCode::data_loss);
  EXPECT_THAT(wrong.error().message, HasSubstr(sha256_hex("hello")));
  EXPECT_TRUE(store_->list_blobs("", 10)->empty());
  EXPECT_EQ(unfinished(), 0u);
}

TEST_F(Blobs, DigestsAreNeverPaths) {
  for (const std::string& bad : {std::string(), std::string("sha256:"), std::string("sha256:../../etc/passwd"), std::string("../x"), "sha256:" + std::string(63, 'a') + "/",
                                "sha256:" + std::string(64, 'A'), std::string(1000, 'a')}) {
    EXPECT_EQ(store_->stat(bad).error().code, ErrorCode::invalid_argument) << bad;
    EXPECT_EQ(store_->check(bad, go_on).error().code, ErrorCode::invalid_argument) << bad;
  }
  EXPECT_EQ(store_->stat("sha256:" + std::string(64, 'a')).error().code, ErrorCode::not_found);
}

TEST_F(Blobs, AFolderIsNoBlob) {
  const UniqueFd folder(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(store_->put("", folder.get(), go_on).error().code, ErrorCode::invalid_argument);
}

TEST_F(Blobs, CancelLeavesNothing) {
  const auto file = memory_file(std::string(5 << 20, 'y'));
  int chunks = 0;
  const auto put = store_->put("", file.get(), [&]() -> Status {
    if (++chunks > 3) return make_error(ErrorCode::cancelled, "enough");
    return ok_status();
  });
  EXPECT_EQ(put.error().code, ErrorCode::cancelled);
  EXPECT_EQ(unfinished(), 0u);
  EXPECT_TRUE(store_->list_blobs("", 10)->empty());
}

TEST_F(Blobs, ASilentPipeCanBeCancelled) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  const UniqueFd writer(ends[1]);
  int asked = 0;
  const auto put = store_->put("", reader.get(), [&]() -> Status {
    if (++asked > 2) return make_error(ErrorCode::cancelled, "enough");
    return ok_status();
  });
  EXPECT_EQ(put.error().code, ErrorCode::cancelled);
}

TEST_F(Blobs, ManyPutsOfTheSameBytesAtOnce) {
  const std::string bytes(1 << 20, 'z');
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { right += put_text(*store_, bytes) == "sha256:" + sha256_hex(bytes); });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 8);
  EXPECT_EQ(store_->list_blobs("", 10)->size(), 1u);
  EXPECT_EQ(unfinished(), 0u);
}

TEST_F(Blobs, ListIsOrderedAndHasACursor) {
  std::vector<std::string> digests;
  for (const auto* text : {"a", "b", "c"}) digests.push_back(put_text(*store_, text));
  std::sort(digests.begin(), digests.end());
  std::ofstream(folder_.path("s/blobs/sha256/stray")) << "not a blob";
  const auto first = store_->list_blobs("", 2);
  ASSERT_EQ(first->size(), 2u);
  EXPECT_EQ((*first)[0].digest, digests[0]);
  const auto rest = store_->list_blobs((*first)[1].digest, 2);
  ASSERT_EQ(rest->size(), 1u);
  EXPECT_EQ((*rest)[0].digest, digests[2]);
}

TEST_F(Blobs, DamageIsFoundAndMendedByTheNextPut) {
  const auto digest = put_text(*store_, "hello");
  ASSERT_EQ(::chmod(store_->path_of(digest).c_str(), 0600), 0);
  std::ofstream(store_->path_of(digest)) << "jello";
  EXPECT_EQ(*store_->check(digest, go_on), false);
  const auto file = memory_file("hello");
  EXPECT_TRUE(store_->put(digest, file.get(), go_on).ok());
  EXPECT_EQ(*store_->check(digest, go_on), true);
}

}  // namespace
}  // namespace harena::imagestore
