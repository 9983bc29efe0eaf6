#include <gtest/gtest.h>

#include <random>

#include "sdk/session/command_messages.hpp"
#include "sdk/session/file_messages.hpp"
#include "sdk/session/hello.hpp"

namespace harena::session {
namespace {

StartRequest sample() {
  StartRequest start;
  start.argv = {"printf", "%s", std::string("a\0b", 3), "", "\xff\xfe"};
  start.env = {{"QUOTE", "'\"\\\n$HOME -n \xe2\x98\x83"}, {"EMPTY", ""}};
  start.user = "1000:100";
  start.timeout_ms = 2000;
  start.output_limit_bytes = 0;
  start.rows = 50;
  start.on_disconnect = OnDisconnect::kill;
  return start;
}

TEST(Codec, MessagesComeBackByteExact) {
  auto back = decode<StartRequest>(encode(sample()), UnknownKeys::refuse);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, sample());
}

TEST(Codec, DefaultsAreNotSent) {
  EXPECT_TRUE(encode(StartRequest{}).empty());
  AttachRequest attach;
  attach.follow = false;
  auto back = decode<AttachRequest>(encode(attach));
  ASSERT_TRUE(back);
  EXPECT_FALSE(back->follow);
}

TEST(Codec, NestedAndRepeated) {
  CommandList list;
  for (int i = 0; i < 3; ++i) {
    CommandInfo info;
    info.id = std::to_string(i);
    if (i == 1) info.exit.emplace().code = 7;
    list.commands.push_back(info);
  }
  auto back = decode<CommandList>(encode(list));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, list);
}

TEST(Codec, IntegersOfEverySize) {
  for (std::int64_t v : std::initializer_list<std::int64_t>{0, 1, -1, 127, 128, -128, -129, 65535, 1LL << 40, INT64_MAX,
                                                         INT64_MIN}) {
    std::string out;
    append_integer(out, 9, v);
    auto attributes = parse_attributes(out);
    ASSERT_TRUE(attributes);
    auto back = parse_integer(attributes->front());
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, v);
  }
  Stats stats;
  stats.spool_bytes = UINT64_MAX;
  EXPECT_EQ(decode<Stats>(encode(stats))->spool_bytes, UINT64_MAX);
}

TEST(Codec, UnknownOptionIsRefusedUnlessIgnorable) {
  std::string payload = encode(sample());
  append_integer(payload, 0x8001, 1);
  EXPECT_TRUE(decode<StartRequest>(payload, UnknownKeys::refuse));
  append_integer(payload, 999, 1);
  auto refused = decode<StartRequest>(payload, UnknownKeys::refuse);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unimplemented);
  EXPECT_NE(refused.error().message.find("999"), std::string::npos);
  EXPECT_TRUE(decode<StartRequest>(payload, UnknownKeys::skip));
}

TEST(Codec, OutOfRangeNumberIsRefused) {
  std::string payload;
  append_integer(payload, 2, 70000);
  EXPECT_FALSE(decode<DialRequest>(payload));
}

TEST(Codec, ErrorsCrossWhole) {
  Error error = infrastructure_error(ErrorCode::unavailable, "shim", "no");
  Error back = decode_error(encode_error(error));
  EXPECT_EQ(back.code, error.code);
  EXPECT_EQ(back.message, error.message);
  EXPECT_EQ(back.cause, Cause::infrastructure);
  EXPECT_EQ(back.cause_detail, "shim");
  EXPECT_EQ(back.retry, Retry::other_node);
}

TEST(Frame, HeaderRoundTripAndLimit) {
  FrameHeader header{kMaxFrameBytes, FrameType::output_err, kFlagMore, 7};
  std::string out;
  append_header(out, header);
  EXPECT_EQ(*parse_header(out), header);
  out.clear();
  append_header(out, {kMaxFrameBytes + 1, FrameType::data, 0, 0});
  EXPECT_FALSE(parse_header(out));
}

TEST(Frame, LongMessagesAreContinued) {
  std::string payload(3 * kMaxFrameBytes + 5, 'x'), out;
  append_message(out, FrameType::start, payload);
  MessageAssembler assembler;
  std::string_view rest = out;
  bool whole = false;
  int frames = 0;
  while (!rest.empty()) {
    auto header = parse_header(rest);
    ASSERT_TRUE(header);
    auto added = assembler.add(*header, rest.substr(kHeaderBytes, header->length));
    ASSERT_TRUE(added);
    whole = *added;
    rest.remove_prefix(kHeaderBytes + header->length);
    ++frames;
  }
  EXPECT_TRUE(whole);
  EXPECT_EQ(frames, 4);
  EXPECT_EQ(assembler.take(), payload);
}

TEST(Frame, AssemblerRefusesMixtureAndBulk) {
  MessageAssembler assembler;
  ASSERT_TRUE(assembler.add({1, FrameType::start, kFlagMore, 0}, "x"));
  EXPECT_FALSE(assembler.add({1, FrameType::attach, 0, 0}, "x"));
  MessageAssembler bulk;
  std::string part(kMaxFrameBytes, 'x');
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(bulk.add({kMaxFrameBytes, FrameType::start, kFlagMore, 0}, part));
  EXPECT_EQ(bulk.add({1, FrameType::start, 0, 0}, "x").error().code, ErrorCode::resource_exhausted);
}

TEST(Codec, RandomBytesNeverHurt) {
  std::mt19937 random(1);
  std::string good = encode(sample());
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    for (int k = 0; k < 3; ++k) bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(random() % (bytes.size() + 1));
    (void)decode<StartRequest>(bytes, UnknownKeys::refuse);
    (void)decode<CommandList>(bytes);
    (void)decode_error(bytes);
  }
}

}  // namespace
}  // namespace harena::session
