#include "plugins/imagestore-local/tag_folder.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "plugins/imagestore-local/test_support.hpp"
#include "sdk/digest/sha256.hpp"

namespace harena::imagestore {
namespace {

using ::testing::HasSubstr;

class Tags : public ::testing::Test {
 protected:
  TestFolder folder_;
  std::unique_ptr<LocalStore> store_ = open_store(folder_.path("s"));
  std::string blob_ = put_text(*store_, "manifest");
};

TEST_F(Tags, ANameMovesAndSurvivesARestart) {
  EXPECT_TRUE(store_->tag("root/a:v1", blob_).ok());
  const auto other = put_text(*store_, "other");
  EXPECT_TRUE(store_->tag("root/a:v1", other).ok());
  store_.reset();
  store_ = open_store(folder_.path("s"));
  EXPECT_EQ(*store_->resolve("root/a:v1"), other);
}

TEST_F(Tags, OnlyStoredBlobsCanBeNamed) {
  EXPECT_EQ(store_->tag("root/a:v1", "sha256:" + std::string(64, '1')).error().code, ErrorCode::not_found);
  EXPECT_EQ(store_->tag("root/a:v1", "v1").error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(store_->resolve("root/a:v1").error().code, ErrorCode::not_found);
}

TEST_F(Tags, ANamedBlobIsNotRemoved) {
  ASSERT_TRUE(store_->tag("root/a:v1", blob_).ok());
  const auto refused = store_->remove(blob_);
  EXPECT_EQ(refused.error().code, ErrorCode::failed_precondition);
  EXPECT_THAT(refused.error().message, HasSubstr("'root/a:v1'"));
  EXPECT_TRUE(store_->remove("root/a:v1").ok());
  EXPECT_TRUE(store_->remove("root/a:v1").ok());
  EXPECT_TRUE(store_->remove(blob_).ok());
  EXPECT_TRUE(store_->remove(blob_).ok());
  EXPECT_EQ(store_->stat(blob_).error().code, ErrorCode::not_found);
}

TEST_F(Tags, ListHasPrefixAndCursor) {
  for (const auto* name : {"root/a:v1", "root/a:v2", "root/b:v1", "top/c:v1"}) ASSERT_TRUE(store_->tag(name, blob_).ok());
  const auto names = [&](auto prefix, auto cursor, std::size_t limit) {
    std::string text;
    for (const auto& tag : store_->list(prefix, cursor, limit)) text += tag.reference + " ";
    return text;
  };
  EXPECT_EQ(names("root/", "", 10), "root/a:v1 root/a:v2 root/b:v1 ");
  EXPECT_EQ(names("root/", "root/a:v1", 1), "root/a:v2 ");
  EXPECT_EQ(names("", "root/b:v1", 10), "top/c:v1 ");
  EXPECT_EQ(names("root/a", "zzz", 10), "");
}

TEST_F(Tags, NamesCannotEscapeTheFolder) {
  const std::string odd = "../../../etc/" + std::string(400, 'x') + "/\xC3\xA9:%2f";
  ASSERT_TRUE(store_->tag(odd, blob_).ok());
  EXPECT_EQ(*store_->resolve(odd), blob_);
  EXPECT_EQ(count_in(folder_.path()), 1u);
  for (const std::string& bad : {std::string(), std::string(513, 'a'), std::string("a\nb"), std::string("a\0b", 3),
                                 std::string("\xff"), std::string("sha256:x")}) {
    EXPECT_EQ(store_->tag(bad, blob_).error().code, ErrorCode::invalid_argument) << bad;
  }
}

TEST_F(Tags, AFileThatIsNoTagIsNamedAndLeftAlone) {
  ASSERT_TRUE(store_->tag("root/a:v1", blob_).ok());
  const auto stray = folder_.path("s/tags/" + sha256_hex("root/b:v1"));
  std::ofstream(stray) << R"({"reference":"root/other:v1","digest":")" << blob_ << "\"}";
  store_.reset();
  store_ = open_store(folder_.path("s"));
  EXPECT_EQ(store_->damaged_tags().size(), 1u);
  EXPECT_TRUE(std::filesystem::exists(stray));
  EXPECT_EQ(store_->list("", "", 10).size(), 1u);
}

}  // namespace
}  // namespace harena::imagestore
