#include "plugins/imagestore-local/local_store.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "plugins/imagestore-local/test_support.hpp"

namespace harena::imagestore {
namespace {

using ::testing::HasSubstr;

TEST(LocalStore, MakesItsFoldersClosedToOthers) {
  TestFolder folder;
  const auto store = open_store(folder.path("a/b/s"));
  ASSERT_NE(store, nullptr);
  for (const auto* name : {"a/b/s", "a/b/s/blobs", "a/b/s/blobs/sha256", "a/b/s/tags", "a/b/s/tmp"}) {
    struct stat status{};
    ASSERT_EQ(::stat(folder.path(name).c_str(), &status), 0) << name;
    EXPECT_EQ(status.st_mode & 0777, 0700u) << name;
  }
}

TEST(LocalStore, NeverTouchesAFolderOfSomethingElse) {
  TestFolder folder;
  std::ofstream(folder.path("precious")) << "x";
  const auto store = LocalStore::open(folder.path());
  EXPECT_EQ(store.error().code, ErrorCode::failed_precondition);
  EXPECT_EQ(count_in(folder.path()), 1u);
}

TEST(LocalStore, RefusesAnotherVersionNamingBoth) {
  TestFolder folder;
  ASSERT_NE(open_store(folder.path("s")), nullptr);
  std::ofstream(folder.path("s/version")) << "{\"version\": 7}\n";
  const auto store = LocalStore::open(folder.path("s"));
  EXPECT_EQ(store.error().code, ErrorCode::failed_precondition);
  EXPECT_THAT(store.error().message, HasSubstr("says {\"version\": 7}; this release reads {\"version\": 1}"));
}

TEST(LocalStore, IsUsedByOneAtATime) {
  TestFolder folder;
  auto first = open_store(folder.path("s"));
  EXPECT_THAT(LocalStore::open(folder.path("s")).error().message, HasSubstr("used by another process"));
  first.reset();
  EXPECT_NE(open_store(folder.path("s")), nullptr);
}

TEST(LocalStore, RootIsAbsolute) {
  EXPECT_EQ(LocalStore::open("images").error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(LocalStore::open("").error().code, ErrorCode::invalid_argument);
}

TEST(LocalStore, AStartThatWasCutOffIsGoneOnWith) {
  TestFolder folder;
  std::filesystem::create_directory(folder.path("s"));
  std::ofstream(folder.path("s/lock")) << "";
  std::filesystem::create_directory(folder.path("s/tmp"));
  std::ofstream(folder.path("s/tmp/put.half")) << "";
  EXPECT_NE(open_store(folder.path("s")), nullptr);
  EXPECT_EQ(count_in(folder.path("s/tmp")), 0u);
}

}  // namespace
}  // namespace harena::imagestore
