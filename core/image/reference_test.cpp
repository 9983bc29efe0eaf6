#include "core/image/reference.hpp"

#include <gmock/gmock.h>

#include <random>

namespace harena::image {
namespace {

using ::testing::HasSubstr;

const std::string kHex(64, 'a');

TEST(Reference, TakesItsPartsApart) {
  const auto tagged = ImageReference::parse("root/rl/job-42/base:v1.0_x");
  ASSERT_TRUE(tagged.ok());
  EXPECT_EQ(tagged->project().str(), "root/rl/job-42");
  EXPECT_EQ(tagged->name(), "base");
  EXPECT_EQ(tagged->tag(), "v1.0_x");
  EXPECT_FALSE(tagged->digest());
  const auto pinned = ImageReference::parse("root/base@sha256:" + kHex);
  ASSERT_TRUE(pinned.ok());
  EXPECT_EQ(pinned->digest()->hex(), kHex);
  EXPECT_FALSE(pinned->tag());
  EXPECT_EQ(pinned->str(), "root/base@sha256:" + kHex);
}

struct Wrong {
  std::string text;
  std::string says;
};

class WrongReference : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongReference, IsRefusedWithTheReason) {
  const auto parsed = ImageReference::parse(GetParam().text);
  ASSERT_FALSE(parsed.ok()) << GetParam().text;
  EXPECT_EQ(parsed.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(parsed.error().message, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, WrongReference,
    ::testing::Values(
        Wrong{"", "the project and the name are missing"}, Wrong{"base:v1", "did you mean 'root/base:v1'?"},
        Wrong{"root/base", "the tag or the digest is missing; did you mean 'root/base:v1'?"},
        Wrong{"root/base:", "the tag after ':' is empty"}, Wrong{"Root/Base:v1", "did you mean 'root/base:v1'?"},
        Wrong{"/root/base:v1", "did you mean 'root/base:v1'?"}, Wrong{"root//base:v1", "did you mean 'root/base:v1'?"},
        Wrong{" root/base:v1\n", "did you mean 'root/base:v1'?"}, Wrong{"root/../base:v1", "project part '..'"},
        Wrong{"root/-x:v1", "did you mean 'root/x:v1'?"}, Wrong{"root/base:v 1", "did you mean 'root/base:v1'?"},
        Wrong{"root/base:.x", "did you mean 'root/base:x'?"}, Wrong{"host:5000/base:v1", "did you mean 'root/host-5000/base:v1'?"},
        Wrong{"root/base@sha256:abc", "has 3 digits"}, Wrong{"root/base@md5:abc", "doesn't begin with 'sha256:'"},
        Wrong{"root/base:v1@sha256:" + std::string(64, 'a'), "both a tag and a digest"},
        Wrong{"root/base@sha256:" + std::string(64, 'A'), "did you mean 'root/base@sha256:aaaa"},
        Wrong{"docker://python:3.12", "import it first"}, Wrong{std::string(600, 'a'), "600 bytes"},
        Wrong{"root/" + std::string(64, 'a') + ":v1", "1 to 63 characters"},
        Wrong{"root/base:" + std::string(129, 't'), "129 characters"}, Wrong{"root/b\xC3\xA9:v1", "did you mean 'root/b:v1'?"},
        Wrong{std::string("root/a\0b:v1", 11), "did you mean 'root/ab:v1'?"}));

/// Whatever comes in: a parsed reference prints as it was written, and a suggestion is itself right.
TEST(Reference, RandomTextEitherRoundTripsOrGetsARightSuggestion) {
  std::mt19937 random(7);
  const std::string alphabet = std::string("ab/:@.-_Z \n\0\xff", 13) + "sha256:";
  const std::string starts[] = {"", "root/", "root/a:"};
  for (int i = 0; i < 20000; ++i) {
    std::string text = starts[random() % 3];
    for (auto n = random() % 18; n > 0; --n) text += alphabet[random() % alphabet.size()];
    const auto parsed = ImageReference::parse(text);
    if (parsed) {
      EXPECT_EQ(parsed->str(), text);
      continue;
    }
    const auto& message = parsed.error().message;
    const auto start = message.find("did you mean '");
    if (start == std::string::npos) continue;
    const auto near = message.substr(start + 14, message.rfind('\'') - start - 14);
    EXPECT_TRUE(ImageReference::parse(near).ok()) << message;
  }
}

TEST(Digest, IsStrict) {
  EXPECT_EQ(Digest::of("abc").str(), "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_THAT(Digest::parse("sha256:" + std::string(63, 'a') + "G").error().message, HasSubstr("position 71"));
  EXPECT_FALSE(Digest::parse("SHA256:" + kHex).ok());
  EXPECT_FALSE(Digest::parse("sha256:" + kHex + "a").ok());
}

}  // namespace
}  // namespace harena::image
