#include "core/image/manifest.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace harena::image {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

Manifest sample() {
  Manifest manifest;
  manifest.config.architecture = "amd64";
  manifest.config.env = {{"PATH", "/bin"}, {"GREETING", "a=\"b\"\n\xE2\x98\x83"}};
  manifest.config.entrypoint = {"/init", "--"};
  manifest.config.workdir = "/work";
  manifest.layers = {{Digest::of("a"), 4096}, {Digest::of("b"), 8192}};
  manifest.created = "2025-01-01T00:00:00Z";
  manifest.provenance = {{"source", "dir:/x"}};
  return manifest;
}

std::string changed(const json& patch) {
  auto document = json::parse(sample().serialise());
  document.merge_patch(patch);
  return document.dump();
}

TEST(Manifest, RoundTripsToTheSameBytes) {
  const auto bytes = sample().serialise();
  const auto parsed = Manifest::parse(bytes);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(*parsed, sample());
  EXPECT_EQ(parsed->serialise(), bytes);
}

struct Wrong {
  json patch;
  std::string says;
  ErrorCode code = ErrorCode::invalid_argument;
};

TEST(Manifest, RefusesWhatItDoesNotUnderstand) {
  const json no_digest = json::array({{{"digest", "x"}, {"size", 1}, {"media_type", kLayerMediaType}}});
  const json foreign = json::array({{{"digest", Digest::of("a").str()}, {"size", 1}, {"media_type", "text/html"}}});
  const json twice = json::array({{{"digest", Digest::of("a").str()}, {"size", 1}, {"media_type", kLayerMediaType}},
                                  {{"digest", Digest::of("a").str()}, {"size", 1}, {"media_type", kLayerMediaType}}});
  const Wrong cases[] = {{{{"kinds", "base"}}, "kinds"},
                         {{{"kind", "bose"}}, "did you mean 'base'?"},
                         {{{"schema_version", 2}}, "reads version 1", ErrorCode::failed_precondition},
                         {{{"media_type", "text/plain"}}, "text/plain"},
                         {{{"layers", json::array()}}, "layers is empty"},
                         {{{"layers", 7}}, "layers must be an array"},
                         {{{"layers", no_digest}}, "doesn't begin with 'sha256:'"},
                         {{{"layers", foreign}}, "text/html"},
                         {{{"layers", twice}}, "listed twice"},
                         {{{"config", {{"workdir", "x"}}}}, "must be absolute"},
                         {{{"config", {{"architecture", nullptr}}}}, "architecture is missing"},
                         {{{"config", {{"env", {{"A=B", "c"}}}}}}, "config.env"},
                         {{{"config", {{"entrypoint", "sh"}}}}, "entrypoint"},
                         {{{"overrides", {"env"}}}, "a base has no overrides"},
                         {{{"kind", "toolkit"}, {"overrides", {"environ"}}}, "overrides has 'environ'"}};
  for (const auto& [patch, says, code] : cases) {
    const auto parsed = Manifest::parse(changed(patch));
    ASSERT_FALSE(parsed.ok()) << patch;
    EXPECT_EQ(parsed.error().code, code) << patch;
    EXPECT_THAT(parsed.error().message, HasSubstr(says)) << patch;
  }
}

TEST(Manifest, SurvivesBytesThatAreNoManifest) {
  const auto whole = sample().serialise();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(Manifest::parse(whole.substr(0, length)).ok());
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char byte : {'\0', '\xff', '{', '"', '9'}) {
      auto bent = whole;
      bent[at] = byte;
      (void)Manifest::parse(bent);
    }
  }
  EXPECT_THAT(Manifest::parse(std::string(100000, '[')).error().message, HasSubstr("nested deeper"));
  EXPECT_THAT(Manifest::parse(std::string(kMaxManifestBytes + 1, ' ')).error().message, HasSubstr("at most"));
}

}  // namespace
}  // namespace harena::image
