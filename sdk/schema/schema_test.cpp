#include "sdk/schema/schema.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace harena::schema {
namespace {

using testing::HasSubstr;

Schema compiled(std::string_view text) {
  auto schema = Schema::parse(text);
  EXPECT_TRUE(schema.ok()) << schema.error().message;
  return *schema;
}

std::string refusal(std::string_view schema, const json& value) {
  auto outcome = compiled(schema).apply(value, "params");
  return outcome.ok() ? "(accepted)" : outcome.error().message;
}

std::string compile_refusal(std::string_view text) {
  auto schema = Schema::parse(text);
  return schema.ok() ? "(accepted)" : schema.error().message;
}

constexpr std::string_view kContainer = R"({
  "type": "object", "additionalProperties": false, "required": ["image"],
  "properties": {
    "image": {"type": "string", "minLength": 1},
    "memory_mib": {"type": "integer", "minimum": 16, "maximum": 1048576, "default": 512},
    "cpu": {"type": "number", "exclusiveMinimum": 0, "default": 1},
    "network": {"enum": ["none", "open"], "default": "none"},
    "limits": {"type": "object", "additionalProperties": false, "default": {},
      "properties": {"pids": {"type": "integer", "default": 256}}},
    "env": {"type": "object", "additionalProperties": {"type": "string"}},
    "mounts": {"type": "array", "maxItems": 2, "items": {"type": "object", "required": ["target"],
      "properties": {"target": {"type": "string", "pattern": "^/"}}}}
  }
})";

TEST(Schema, FillsDefaultsAlsoInNestedObjects) {
  auto value = compiled(kContainer).apply({{"image", "base"}}, "params");
  ASSERT_TRUE(value.ok()) << value.error().message;
  EXPECT_EQ(json::parse(R"({"image":"base","memory_mib":512,"cpu":1,"network":"none","limits":{"pids":256}})"), *value);
}

TEST(Schema, ValidateLeavesRequiredWithDefaultAsMissing) {
  auto schema = compiled(R"({"required":["a"],"properties":{"a":{"default":1}}})");
  EXPECT_FALSE(schema.validate(json::object()).ok());
  EXPECT_TRUE(schema.apply(json::object()).ok());
}

TEST(Schema, UnknownKeyNamesTheNearest) {
  EXPECT_EQ("params.memroy_mib isn't known, did you mean 'memory_mib'?",
            refusal(kContainer, {{"image", "b"}, {"memroy_mib", 5}}));
}

TEST(Schema, MessagesNamePathValueAndWhatIsRight) {
  EXPECT_EQ("params.image is missing; a string is right", refusal(kContainer, json::object()));
  EXPECT_EQ("params.image is 7; a string is right", refusal(kContainer, {{"image", 7}}));
  EXPECT_EQ("params.memory_mib is 0; at least 16 is right", refusal(kContainer, {{"image", "b"}, {"memory_mib", 0}}));
  EXPECT_EQ("params.cpu is -1; more than 0 is right", refusal(kContainer, {{"image", "b"}, {"cpu", -1}}));
  EXPECT_EQ("params.network is 'opem'; 'none' or 'open' is right, did you mean 'open'?",
            refusal(kContainer, {{"image", "b"}, {"network", "opem"}}));
  EXPECT_EQ("params.env.A is 1; a string is right", refusal(kContainer, {{"image", "b"}, {"env", {{"A", 1}}}}));
  EXPECT_EQ("params.mounts[0].target is 'x'; something that matches ^/ is right",
            refusal(kContainer, json::parse(R"({"image":"b","mounts":[{"target":"x"}]})")));
  EXPECT_EQ("params is []; an object is right", refusal(kContainer, json::array()));
}

TEST(Schema, AllProblemsAreToldUpToFive) {
  EXPECT_THAT(refusal(kContainer, {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}, {"image", "x"}, {"f", 1}}),
              HasSubstr("; and 1 more"));
}

TEST(Schema, IntegersLieIn64Bits) {
  constexpr std::string_view integer = R"({"type":"integer"})";
  EXPECT_EQ(json(2), *compiled(integer).apply(2.0));
  EXPECT_TRUE(compiled(integer).apply(2.0)->is_number_integer());
  EXPECT_EQ("params is 2.5; an integer is right", refusal(integer, 2.5));
  EXPECT_THAT(refusal(integer, 1e30), HasSubstr("an integer of 64 bits is right"));
  EXPECT_THAT(refusal(integer, 9223372036854775808ull), HasSubstr("64 bits"));
  EXPECT_EQ("(accepted)", refusal(integer, INT64_MAX));
  EXPECT_EQ("params is true; an integer is right", refusal(integer, true));
}

TEST(Schema, BoundsAreExactBeyondDoubles) {
  constexpr std::string_view bound = R"({"maximum": 9007199254740992})";
  EXPECT_EQ("(accepted)", refusal(bound, 9007199254740992));
  EXPECT_THAT(refusal(bound, 9007199254740993), HasSubstr("at most 9007199254740992"));
}

TEST(Schema, StringsAreCountedInCharacters) {
  constexpr std::string_view two = R"({"type":"string","minLength":2,"maxLength":2})";
  EXPECT_EQ("(accepted)", refusal(two, "\xc3\xa4\xc3\xb6"));
  EXPECT_EQ("params has 3 characters; at most 2 are right", refusal(two, "abc"));
  EXPECT_EQ("params has 1 characters; at least 2 are right", refusal(two, "a"));
}

TEST(Schema, PatternInputIsBounded) {
  constexpr std::string_view any = R"({"pattern":"^(a|b)*$"})";
  EXPECT_EQ("(accepted)", refusal(any, std::string(kMaxPatternInput, 'a')));
  EXPECT_THAT(refusal(any, std::string(10'000'000, 'a')), HasSubstr("at most 1024 are right"));
}

TEST(Schema, ArraysAndUniqueness) {
  constexpr std::string_view list = R"({"type":"array","minItems":1,"maxItems":2,"uniqueItems":true})";
  EXPECT_EQ("params has 0 items; at least 1 are right", refusal(list, json::array()));
  EXPECT_EQ("params has 3 items; at most 2 are right", refusal(list, {1, 2, 3}));
  EXPECT_EQ("params has 1 twice; once is right", refusal(list, {1, 1}));
}

TEST(Schema, ObjectCountsAndNames) {
  constexpr std::string_view map = R"({"maxProperties":1,"propertyNames":{"pattern":"^[A-Z]+$"}})";
  EXPECT_EQ("(accepted)", refusal(map, {{"A", 1}}));
  EXPECT_EQ("the key params.a is 'a'; something that matches ^[A-Z]+$ is right", refusal(map, {{"a", 1}}));
}

TEST(Schema, OneOfTellsOfTheNearestForm) {
  constexpr std::string_view disk = R"({"oneOf":[
    {"type":"object","properties":{"kind":{"const":"file"},"path":{"type":"string"}},"required":["kind","path"]},
    {"type":"object","properties":{"kind":{"const":"empty"},"mib":{"type":"integer","default":64}},"required":["kind"]},
    {"type":"null"}]})";
  EXPECT_EQ("params fits none of 3 forms; of the nearest: params.path is missing; a string is right",
            refusal(disk, {{"kind", "file"}}));
  EXPECT_EQ(64, (*compiled(disk).apply({{"kind", "empty"}}))["mib"]);
  EXPECT_EQ("(accepted)", refusal(disk, nullptr));
  EXPECT_EQ("params fits 2 forms; exactly one is right", refusal(R"({"oneOf":[{"minimum":1},{"minimum":2}]})", 3));
}

TEST(Schema, AnyOfAcceptsTheFirstThatFits) {
  constexpr std::string_view size = R"({"anyOf":[{"type":"integer"},{"type":"string"}]})";
  EXPECT_EQ("(accepted)", refusal(size, "1G"));
  EXPECT_THAT(refusal(size, true), HasSubstr("fits none of 2 forms"));
}

TEST(Schema, SecretsAreNotShown) {
  EXPECT_EQ("params.token is (hidden); at least 5 is right",
            refusal(R"({"properties":{"token":{"writeOnly":true,"minimum":5}}})", {{"token", 4}}));
}

TEST(Schema, ValuesInMessagesAreShortAndValid) {
  std::string text = refusal(R"({"type":"integer"})", std::string(5000, 'x'));
  EXPECT_LT(text.size(), 200u);
  EXPECT_THAT(refusal(R"({"type":"integer"})", "\xff\xfe"), HasSubstr("an integer is right"));
}

TEST(Schema, HugeKeysAreShortened) {
  auto text = refusal(kContainer, {{"image", "b"}, {std::string(1'000'000, 'k'), 1}});
  EXPECT_THAT(text, HasSubstr("kkk... isn't known"));
  EXPECT_LT(text.size(), 200u);
}

TEST(Schema, UnsupportedKeywordsAreRefused) {
  EXPECT_EQ("schema at the top: the keyword '$ref' isn't supported", compile_refusal(R"({"$ref":"#/x"})"));
  EXPECT_EQ("schema at /properties/a: the keyword 'minimun' isn't supported, did you mean 'minimum'?",
            compile_refusal(R"({"properties":{"a":{"minimun":1}}})"));
  EXPECT_EQ("(accepted)", compile_refusal(R"({"x-unit":"bytes","title":"t","format":"uri"})"));
}

TEST(Schema, MalformedKeywordsAreRefused) {
  for (std::string_view text : {R"({"type":"int"})", R"({"type":[]})", R"({"minLength":-1})", R"({"pattern":"("})",
                                R"({"enum":[]})", R"({"required":"a"})", R"({"oneOf":[]})", R"({"items":3})",
                                R"({"multipleOf":0})", R"({"properties":[]})", R"({"default":1,"type":"string"})",
                                R"([])", R"({"minimum":"1"})", "{"}) {
    EXPECT_NE("(accepted)", compile_refusal(text)) << text;
  }
}

TEST(Schema, DeepSchemasAreRefused) {
  std::string text = "{}";
  for (int i = 0; i < 100; ++i) text = R"({"items":)" + text + "}";
  EXPECT_THAT(compile_refusal(text), HasSubstr("nested deeper than 64"));
}

TEST(Schema, BooleanSchemas) {
  EXPECT_EQ("(accepted)", refusal("true", 1));
  EXPECT_EQ("params isn't allowed here", refusal("false", 1));
}

}  // namespace
}  // namespace harena::schema
