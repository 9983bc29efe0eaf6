#include "core/store/keys.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "core/model/sandbox.hpp"

namespace harena {
namespace {

SandboxId id_of(const std::string& text) { return SandboxId::parse(text).value(); }
const SandboxId kId = id_of("edge10123456789abcde");

TEST(Keys, TimesAreInTheOrderOfText) {
  EXPECT_LT(keys::ended(999, kId), keys::ended(1'000, kId));
  EXPECT_LT(keys::ended(1'700'000'000'000, kId), keys::ended(std::numeric_limits<std::int64_t>::max(), kId));
  EXPECT_LT(keys::ended(0, kId), keys::ended(1, kId));
}

TEST(Keys, TimeAndIdComeBack) {
  const auto key = keys::ended(1'700'000'000'000, kId);
  EXPECT_EQ(keys::time_of(keys::kEnded, key), 1'700'000'000'000);
  EXPECT_EQ(keys::id_of(key).value(), kId);
  EXPECT_EQ(keys::time_of(keys::kEnded, "/v1/ended/12"), -1);
  EXPECT_EQ(keys::time_of(keys::kEnded, "/v1/ended/00000000000000000xx:a"), -1);
  EXPECT_FALSE(keys::id_of("/v1/ended/x").ok());
}

TEST(Keys, IdempotencyKeysOfTwoProjectsNeverMeet) {
  const auto a = ProjectPath::parse("root/a").value();
  const auto ab = ProjectPath::parse("root/a/b").value();
  EXPECT_NE(keys::idempotency(a, "b:c"), keys::idempotency(ab, "c"));
  EXPECT_NE(keys::idempotency(a, "/b:c"), keys::idempotency(ab, "c"));
}

TEST(Keys, TheLongestFitsTheStore) {
  std::string path = "root";
  while (path.size() + 2 <= kMaxProjectPath) path += "/a";
  const auto project = ProjectPath::parse(path).value();
  EXPECT_LE(keys::idempotency(project, std::string(kMaxIdempotencyKey, 'k')).size(), 1024u);
}

TEST(Keys, BoundsOfAPrefix) {
  EXPECT_EQ(keys::after_prefix("/v1/a/"), "/v1/a0");
  EXPECT_EQ(keys::after_prefix("a\xff\xff"), "b");
  EXPECT_EQ(keys::after_prefix("\xff"), "");
  EXPECT_GT(keys::successor("a"), "a");
  EXPECT_LT(keys::successor("a"), std::string("a\x01"));
}

}  // namespace
}  // namespace harena
