#include "sdk/digest/sha256.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace harena {
namespace {

constexpr const char* kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Sha256, KnownAnswers) {  // FIPS 180-4 examples
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), kAbc);
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, StreamsAndMayBeAskedInTheMiddle) {
  Sha256 hash;
  hash.update("ab");
  EXPECT_EQ(hash.hex(), sha256_hex("ab"));
  hash.update("c");
  EXPECT_EQ(hash.hex(), kAbc);
  Sha256 moved = std::move(hash);
  EXPECT_EQ(moved.hex(), kAbc);
}

TEST(Sha256, HashesFilesAndNamesTheMissingOne) {
  const auto path = std::filesystem::path(testing::TempDir()) / "harena_sha256_test";
  std::ofstream(path) << "abc";
  EXPECT_EQ(*sha256_file(path), kAbc);
  std::filesystem::remove(path);
  const auto missing = sha256_file(path);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_NE(missing.error().message.find(path.string()), std::string::npos);
}

TEST(Sha256, ADirectoryIsAnError) {
  EXPECT_FALSE(sha256_file(std::filesystem::path(testing::TempDir())).ok());
}

}  // namespace
}  // namespace harena
