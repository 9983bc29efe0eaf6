#include <gtest/gtest.h>

#include <fcntl.h>

#include "sdk/base/clock.hpp"
#include "sdk/base/ids.hpp"
#include "sdk/base/random.hpp"
#include "sdk/base/result.hpp"
#include "sdk/base/rfc3339.hpp"
#include "sdk/base/text.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena {
namespace {

TEST(Rfc3339, InUtcWithMilliseconds) {
  EXPECT_EQ(rfc3339(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(rfc3339(1'795'965'716'133), "2026-11-29T15:21:56.133Z");
}

TEST(Result, CarriesValueOrError) {
  Result<int> good = 7;
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(*good, 7);
  Result<int> bad = make_error(ErrorCode::not_found, "no x");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code, ErrorCode::not_found);
}

Result<int> doubled(Result<int> input) {
  HARENA_TRY(auto x, std::move(input));
  return x * 2;
}

TEST(Result, TryReturnsEarly) {
  EXPECT_EQ(*doubled(21), 42);
  EXPECT_EQ(doubled(make_error(ErrorCode::aborted, "a")).error().code, ErrorCode::aborted);
}

TEST(Result, CodesRoundTripByName) {
  for (int i = 0; i <= 16; ++i) {
    const auto code = static_cast<ErrorCode>(i);
    EXPECT_EQ(error_code_from_string(to_string(code)), code);
  }
  EXPECT_FALSE(error_code_from_string("nope"));
}

TEST(Result, ContextReadsOutermostFirst) {
  Error error = make_error(ErrorCode::internal, "boom").during("inner").during("outer");
  EXPECT_EQ(error.describe(), "outer: inner: boom (internal)");
}

TEST(UniqueFd, ClosesOnceAndMoves) {
  UniqueFd a(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int raw = a.get();
  UniqueFd b = std::move(a);
  EXPECT_FALSE(a);
  EXPECT_EQ(b.get(), raw);
  b.reset();
  EXPECT_EQ(::fcntl(raw, F_GETFD), -1);
}

TEST(Ids, GenerateAndParse) {
  SeededRandom random(1);
  const auto id = SandboxId::generate("ab12z", random);
  EXPECT_EQ(id.str().size(), 20u);
  EXPECT_EQ(id.edge_code(), "ab12z");
  EXPECT_EQ(*SandboxId::parse(id.str()), id);
  EXPECT_FALSE(SandboxId::parse("short").ok());
  EXPECT_FALSE(SandboxId::parse("ABCDEFGHIJ0123456789").ok());
}

TEST(Text, NearestFindsTypos) {
  const std::vector<std::string> names = {"container", "microvm", "qemu"};
  EXPECT_EQ(nearest("contaner", names), "container");
  EXPECT_FALSE(nearest("zzzzzzzz", names));
  const std::vector<std::string> options{"url", "idle-ttl", "idle-ttl-action"};
  EXPECT_EQ(nearest("ttl", options), "idle-ttl") << "the whole word counts for more than the distance";
  EXPECT_EQ(suggestion("zzzzzzzz", names), "; known: container, microvm, qemu");
}

TEST(Text, SizesAreChecked) {
  EXPECT_EQ(*parse_size("64MiB"), 64 << 20);
  EXPECT_EQ(*parse_size("1.5G"), 1610612736);
  EXPECT_EQ(*parse_size("512k"), 524288);
  for (const auto* bad : {"", "-1", "x", "1Q", "nan", "inf", "1e30", "1e3", "1e3K", "1.5", "0.5B", "0x10", "+1", " 1", "10MiBs"}) {
    EXPECT_FALSE(parse_size(bad).ok()) << bad;
  }
}

TEST(Text, IntegersAreWholeAndInRange) {
  EXPECT_EQ(*parse_int("42", 0, 100, "n"), 42);
  for (const auto* bad : {"", "1.5", "101", "-1", "0x10", "99999999999999999999"}) {
    EXPECT_FALSE(parse_int(bad, 0, 100, "n").ok()) << bad;
  }
}

TEST(Text, Base64RoundTripsEveryLength) {
  std::string bytes;
  for (int i = 0; i < 70; ++i) {
    EXPECT_EQ(*base64_decode(base64_encode(bytes)), bytes);
    bytes += static_cast<char>(i * 37);
  }
  for (const auto* bad : {"a", "ab=c", "====", "a===", "ab\n="}) EXPECT_FALSE(base64_decode(bad).ok()) << bad;
}

TEST(Text, PercentCodingIsByteExact) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(*percent_decode(percent_encode(all)), all);
  EXPECT_EQ(*percent_decode("%41"), "A");
  EXPECT_EQ(ascii_lower("Az[\xC4@Z0"), "az[\xC4@z0");
  EXPECT_FALSE(percent_decode("%4").ok());
  EXPECT_FALSE(percent_decode("%zz").ok());
}

TEST(Text, Utf8IsStrict) {
  EXPECT_TRUE(is_utf8("snow \xE2\x98\x83"));
  EXPECT_FALSE(is_utf8("\xFF"));
  EXPECT_FALSE(is_utf8("\xC0\x80"));
  EXPECT_FALSE(is_utf8("\xED\xA0\x80"));
  EXPECT_FALSE(is_utf8("\xE2\x98"));
}

TEST(Random, BelowStaysBelow) {
  SystemRandom random;
  for (int i = 0; i < 1000; ++i) EXPECT_LT(random.below(7), 7u);
  EXPECT_EQ(random.hex(16).size(), 32u);
}

TEST(Clock, ManualMovesOnlyWhenTold) {
  ManualClock clock;
  const auto before = clock.monotonic_ns();
  clock.advance_ms(5);
  EXPECT_EQ(clock.monotonic_ns() - before, 5'000'000);
}

}  // namespace
}  // namespace harena
