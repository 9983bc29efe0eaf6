#include "plugins/mcp/envelope.hpp"

#include <gtest/gtest.h>

namespace harena::mcp {
namespace {

http::Headers headers_of(std::initializer_list<std::pair<const char*, const char*>> list) {
  http::Headers headers;
  for (const auto& [name, value] : list) headers.add(name, value);
  return headers;
}

Message call(const char* name, const char* version = "2026-07-28") {
  Message message;
  message.id = 1;
  message.method = "tools/call";
  message.params = {{"name", name},
                    {"_meta",
                     {{"io.modelcontextprotocol/protocolVersion", version},
                      {"io.modelcontextprotocol/clientCapabilities", nlohmann::json::object()}}}};
  return message;
}

int code_of(const http::Headers& headers, const Message& message) {
  const auto wrong = check_modern(headers, message);
  return wrong ? wrong->code : 0;
}

TEST(Envelope, HeadersMustAgreeWithTheBody) {
  const auto good = headers_of({{"MCP-Protocol-Version", "2026-07-28"}, {"Mcp-Method", "tools/call"}, {"Mcp-Name", "run"}});
  EXPECT_EQ(code_of(good, call("run")), 0);
  EXPECT_EQ(code_of(good, call("read")), kHeaderMismatch);
  EXPECT_EQ(code_of(headers_of({{"MCP-Protocol-Version", "2026-07-28"}, {"Mcp-Name", "run"}}), call("run")), kHeaderMismatch);
  EXPECT_EQ(code_of(headers_of({{"Mcp-Method", "tools/call"}, {"Mcp-Name", "run"}}), call("run")), kHeaderMismatch);
  auto twice = good;
  twice.add("Mcp-Name", "run");
  EXPECT_EQ(code_of(twice, call("run")), kHeaderMismatch);
}

TEST(Envelope, AnUnknownRevisionIsToldWhichAreThere) {
  const auto headers = headers_of({{"MCP-Protocol-Version", "2027-01-01"}, {"Mcp-Method", "tools/call"}, {"Mcp-Name", "run"}});
  const auto wrong = check_modern(headers, call("run", "2027-01-01"));
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->code, kUnsupportedVersion);
  EXPECT_EQ(wrong->data["supported"], all_revisions());
}

TEST(Envelope, WhatMetaLacksIsNamed) {
  auto message = call("run");
  message.params["_meta"].erase("io.modelcontextprotocol/clientCapabilities");
  const auto wrong = check_modern({}, message);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->code, kInvalidParams);
  EXPECT_NE(wrong->message.find("clientCapabilities"), std::string::npos);
}

TEST(Envelope, TheErasAreToldApart) {
  Message old;
  old.method = "tools/list";
  EXPECT_FALSE(is_modern({}, old));
  EXPECT_FALSE(is_modern(headers_of({{"MCP-Protocol-Version", "2025-11-25"}}), old));
  EXPECT_TRUE(is_modern(headers_of({{"MCP-Protocol-Version", "2027-01-01"}}), old));
  EXPECT_TRUE(is_modern({}, call("run")));
  EXPECT_EQ(negotiate("2025-06-18"), "2025-06-18");
  EXPECT_EQ(negotiate("1999-01-01"), "2025-11-25");
}

TEST(Envelope, HeadersMayBeBase64) {
  EXPECT_EQ(decode_header("run"), "run");
  EXPECT_EQ(decode_header("=?base64?w6Q=?="), "ä");
  EXPECT_EQ(decode_header("=?base64?/w==?="), std::nullopt) << "not UTF-8";
  EXPECT_EQ(decode_header("=?base64?***?="), std::nullopt);
}

}  // namespace
}  // namespace harena::mcp
