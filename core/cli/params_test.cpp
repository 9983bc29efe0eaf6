#include "core/cli/params.hpp"

#include <gtest/gtest.h>

namespace harena::cli {
namespace {

using nlohmann::json;

const json& schema() {
  static const json value = json::parse(R"({"type": "object", "additionalProperties": false, "properties": {
    "cpu": {"type": "number"}, "pids": {"type": "integer"}, "memory": {"type": ["integer", "string"]},
    "disk": {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "readonly": {"type": "boolean"},
    "hosts": {"type": "array", "items": {"type": "string"}}, "ports": {"type": "array", "items": {"type": "integer"}},
    "extra": {"type": "object"}, "name": {"type": "string"}, "mode": {"enum": ["a", "b"]}}})");
  return value;
}

json typed(const std::string& pair) {
  const auto params = typed_params(schema(), "acme", {pair});
  EXPECT_TRUE(params.ok()) << pair;
  return params.ok() ? params->begin().value() : json();
}

std::string refusal(const std::string& pair) {
  const auto params = typed_params(schema(), "acme", {pair});
  EXPECT_FALSE(params.ok()) << pair;
  return params.ok() ? "" : params.error().message;
}

TEST(ParamsTest, TypesComeFromTheSchema) {
  EXPECT_EQ(typed("cpu=2"), json(2));
  EXPECT_EQ(typed("cpu=0.5"), json(0.5));
  EXPECT_EQ(typed("pids=64"), json(64));
  EXPECT_EQ(typed("pids=1k"), json(1024));
  EXPECT_EQ(typed("memory=1GiB"), json("1GiB"));
  EXPECT_EQ(typed("memory=1048576"), json(1048576));
  EXPECT_EQ(typed("disk=1GiB"), json(1073741824));
  EXPECT_EQ(typed("disk=null"), json());
  EXPECT_EQ(typed("readonly=true"), json(true));
  EXPECT_EQ(typed("name=5"), json("5"));
  EXPECT_EQ(typed("name=a=b"), json("a=b"));
  EXPECT_EQ(typed("mode=a"), json("a"));
  EXPECT_EQ(typed("hosts=a,b"), json({"a", "b"}));
  EXPECT_EQ(typed("hosts=[\"a,b\"]"), json::array({"a,b"}));
  EXPECT_EQ(typed("ports=1,2"), json({1, 2}));
  EXPECT_EQ(typed("extra={\"a\": 1}"), json({{"a", 1}}));
}

TEST(ParamsTest, WhatCantBeOfTheTypeIsNamed) {
  EXPECT_EQ(refusal("pids=many"), "-p pids=many: 'many' isn't of type integer");
  EXPECT_NE(refusal("cpu=fast").find("number"), std::string::npos);
  EXPECT_NE(refusal("readonly=yes").find("boolean"), std::string::npos);
  EXPECT_NE(refusal("ports=1,x").find("array"), std::string::npos);
  EXPECT_NE(refusal("cpu=inf").find("number"), std::string::npos);
}

TEST(ParamsTest, UnknownKeysGetTheNearest) {
  EXPECT_NE(refusal("memroy=1").find("did you mean 'memory'"), std::string::npos);
  EXPECT_NE(refusal("nonsense").find("key=value"), std::string::npos);
  EXPECT_TRUE(typed_params(json::object(), "acme", {"anything=goes"}).ok());
}

}  // namespace
}  // namespace harena::cli
