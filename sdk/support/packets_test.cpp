#include "sdk/support/packets.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace harena {
namespace {

TEST(Packets, CarryDescriptorsCloexec) {
  auto pair = make_packet_pair();
  ASSERT_TRUE(pair.ok());
  UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int fds[] = {null.get(), null.get()};
  ASSERT_TRUE(send_packet(pair->first.get(), "hello", fds).ok());
  auto packet = receive_packet(pair->second.get());
  ASSERT_TRUE(packet.ok());
  EXPECT_EQ(packet->bytes, "hello");
  ASSERT_EQ(packet->fds.size(), 2u);
  struct stat info{};
  ASSERT_EQ(::fstat(packet->fds[0].get(), &info), 0);
  EXPECT_TRUE(S_ISCHR(info.st_mode));
  EXPECT_NE(::fcntl(packet->fds[1].get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(Packets, EndsAreNoticed) {
  auto pair = make_packet_pair();
  pair->second.reset();
  EXPECT_EQ(send_packet(pair->first.get(), "x").error().code, ErrorCode::unavailable);
  EXPECT_EQ(receive_packet(pair->first.get()).error().code, ErrorCode::unavailable);
}

TEST(Packets, TooLargeIsRefusedBeforeSending) {
  auto pair = make_packet_pair();
  EXPECT_EQ(send_packet(pair->first.get(), std::string(kMaxPacketBytes + 1, 'x')).error().code, ErrorCode::out_of_range);
}

TEST(Fields, RoundTrip) {
  Fields fields{{"text", "a=b\nc"}, {"empty", ""}};
  fields.set("number", std::int64_t{-7});
  fields.set_list("list", {"one", "", "three"});
  auto decoded = Fields::decode(fields.encode());
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->text("text"), "a=b\nc");
  EXPECT_TRUE(decoded->has("empty"));
  EXPECT_FALSE(decoded->has("absent"));
  EXPECT_EQ(decoded->number("number").value(), -7);
  EXPECT_EQ(decoded->list("list"), (std::vector<std::string>{"one", "", "three"}));
  EXPECT_EQ(decoded->number("text").error().code, ErrorCode::invalid_argument);
}

TEST(Fields, NonsenseIsRefused) {
  EXPECT_FALSE(Fields::decode("no equals").ok());
  EXPECT_FALSE(Fields::decode("key=unterminated").ok());
  EXPECT_FALSE(Fields::decode(std::string_view("a\0b=c\0", 6)).ok());
}

}  // namespace
}  // namespace harena
