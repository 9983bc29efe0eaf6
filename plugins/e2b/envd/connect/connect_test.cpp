#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plugins/e2b/envd/connect/code.hpp"
#include "plugins/e2b/envd/connect/codec.hpp"
#include "plugins/e2b/envd/connect/envelope.hpp"
#include "plugins/e2b/envd/proto/filesystem.pb.h"
#include "plugins/e2b/envd/proto/process.pb.h"

namespace harena::e2b {
namespace {

using nlohmann::json;

TEST(Envelope, GoesByteByByte) {
  std::string bytes;
  append_envelope(bytes, 0, "hello");
  append_envelope(bytes, kEnvelopeEnd, "{}");
  EXPECT_EQ(bytes.substr(0, 5), std::string("\0\0\0\0\5", 5));
  EnvelopeReader reader;
  std::vector<Envelope> found;
  for (const char byte : bytes) {
    reader.add({&byte, 1});
    auto next = reader.next();
    ASSERT_TRUE(next.ok());
    if (*next) found.push_back(**next);
  }
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], (Envelope{0, "hello"}));
  EXPECT_TRUE(found[1].end());
  EXPECT_TRUE(reader.empty());
}

TEST(Envelope, RefusesWhatIsTooLongBeforeItComes) {
  EnvelopeReader reader(100);
  reader.add(std::string("\0\0\0\0\x65", 5));
  EXPECT_EQ(reader.next().error().code, ErrorCode::resource_exhausted);
}

TEST(Envelope, RefusesUnknownFlags) {
  EnvelopeReader reader;
  reader.add(std::string("\x04\0\0\0\0", 5));
  EXPECT_EQ(reader.next().error().code, ErrorCode::invalid_argument);
}

TEST(Content, KnowsFourTypesAndTheirParameters) {
  EXPECT_EQ(content_kind("application/json"), (ContentKind{Codec::json, false}));
  EXPECT_EQ(content_kind("application/connect+json; charset=utf-8"), (ContentKind{Codec::json, true}));
  EXPECT_EQ(content_kind("Application/Proto"), (ContentKind{Codec::proto, false}));
  EXPECT_EQ(content_kind("application/connect+proto"), (ContentKind{Codec::proto, true}));
  EXPECT_FALSE(content_kind("application/grpc").has_value());
  EXPECT_FALSE(content_kind("").has_value());
}

process::StartRequest start_of(const std::string& text) {
  process::StartRequest request;
  const auto decoded = decode_message(Codec::json, text, request);
  EXPECT_TRUE(decoded.ok()) << text;
  return request;
}

TEST(Json, AsTheSdkSendsAStart) {
  const auto request = start_of(R"({"process":{"cmd":"/bin/bash","args":["-l","-c","echo hi"],"envs":{"A":"b"},"cwd":"/tmp"},"stdin":false})");
  EXPECT_EQ(request.process().cmd(), "/bin/bash");
  EXPECT_EQ(request.process().args(2), "echo hi");
  EXPECT_EQ(request.process().envs().at("A"), "b");
  EXPECT_TRUE(request.has_stdin());
  EXPECT_FALSE(request.stdin());
  EXPECT_FALSE(start_of("{}").has_stdin());
}

TEST(Json, SkipsUnknownFieldsAndTakesNullsAndSnakeCase) {
  const auto request = start_of(R"({"process":{"cmd":"x","new":{"a":[1,2,{"b":null}]}},"later":true,"tag":null})");
  EXPECT_EQ(request.process().cmd(), "x");
  EXPECT_FALSE(request.has_tag());
  filesystem::WatchDirRequest watch;
  ASSERT_TRUE(decode_message(Codec::json, R"({"path":"/","include_entry":true,"allowNetworkMounts":true})", watch).ok());
  EXPECT_TRUE(watch.include_entry());
  EXPECT_TRUE(watch.allow_network_mounts());
}

TEST(Json, EnumsByNameAndNumber) {
  process::SendSignalRequest request;
  ASSERT_TRUE(decode_message(Codec::json, R"({"process":{"pid":42},"signal":"SIGNAL_SIGKILL"})", request).ok());
  EXPECT_EQ(request.signal(), process::SIGNAL_SIGKILL);
  ASSERT_TRUE(decode_message(Codec::json, R"({"process":{"pid":42},"signal":15})", request).ok());
  EXPECT_EQ(request.signal(), process::SIGNAL_SIGTERM);
}

TEST(Json, BytesInAnyBase64) {
  for (const auto* text : {"+/8=", "-_8=", "+/8", "-_8"}) {
    process::SendInputRequest request;
    ASSERT_TRUE(decode_message(Codec::json, json({{"input", {{"stdin", text}}}}).dump(), request).ok()) << text;
    EXPECT_EQ(request.input().stdin(), "\xfb\xff") << text;
  }
}

TEST(Json, RefusesWhatIsNone) {
  process::StartRequest request;
  for (const auto* text : {"{", "[]", "{\"process\":3}", "\xff", "{\"process\":{\"cmd\":{\"a\":1}}}"}) {
    EXPECT_EQ(decode_message(Codec::json, text, request).error().code, ErrorCode::invalid_argument) << text;
  }
  const std::string deep(100'000, '[');
  EXPECT_FALSE(decode_message(Codec::json, "{\"x\":" + deep, request).ok());
}

TEST(Json, WritesAsProto3Says) {
  filesystem::StatResponse response;
  auto& entry = *response.mutable_entry();
  entry.set_name("a");
  entry.set_type(filesystem::FILE_TYPE_FILE);
  entry.set_size(5'000'000'000);
  entry.mutable_modified_time()->set_seconds(1'700'000'000);
  const auto document = json::parse(*encode_message(Codec::json, response));
  EXPECT_EQ(document["entry"]["size"], "5000000000");
  EXPECT_EQ(document["entry"]["type"], "FILE_TYPE_FILE");
  EXPECT_EQ(document["entry"]["modifiedTime"], "2023-11-14T22:13:20Z");
  EXPECT_FALSE(document["entry"].contains("symlinkTarget"));
}

TEST(Json, WritesEventsAsTheSdkReadsThem) {
  process::StartResponse response;
  response.mutable_event()->mutable_data()->set_stdout("hi\n");
  EXPECT_EQ(*encode_message(Codec::json, response), R"({"event":{"data":{"stdout":"aGkK"}}})");
  auto& end = *response.mutable_event()->mutable_end();
  end.set_exited(true);
  end.set_status("exit status 0");
  EXPECT_EQ(*encode_message(Codec::json, response), R"({"event":{"end":{"exited":true,"status":"exit status 0"}}})");
}

TEST(Proto, GoesThroughBothCodecs) {
  const auto request = start_of(R"({"process":{"cmd":"x"},"pty":{"size":{"cols":80,"rows":24}}})");
  const auto bytes = encode_message(Codec::proto, request);
  process::StartRequest again;
  ASSERT_TRUE(decode_message(Codec::proto, *bytes, again).ok());
  EXPECT_EQ(again.pty().size().cols(), 80u);
  EXPECT_FALSE(decode_message(Codec::proto, "\xff\xff", again).ok());
}

TEST(Code, StatusAndSpelling) {
  EXPECT_EQ(connect_code(ErrorCode::cancelled), "canceled");
  EXPECT_EQ(connect_status(ErrorCode::cancelled), 499);
  EXPECT_EQ(connect_status(ErrorCode::out_of_range), 400);
  EXPECT_EQ(connect_status(ErrorCode::deadline_exceeded), 504);
  EXPECT_EQ(json::parse(connect_error_body(make_error(ErrorCode::not_found, "no \xff"))), json({{"code", "not_found"}, {"message", "no \xEF\xBF\xBD"}}));
  EXPECT_EQ(end_of_stream(ok_status()), "{}");
  const auto end = json::parse(end_of_stream(make_error(ErrorCode::unavailable, "gone")));
  EXPECT_EQ(end["error"]["code"], "unavailable");
}

}  // namespace
}  // namespace harena::e2b
