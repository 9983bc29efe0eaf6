#include "core/image/registry.hpp"

#include <gmock/gmock.h>

#include "core/image/import_source.hpp"

namespace harena::image {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class FakeSpawner final : public ProcessSpawner {
 public:
  Result<ProcessOutcome> run(const std::vector<std::string>& argv, const std::vector<std::string>&, const Checkpoint&) override {
    seen = argv;
    return outcome;
  }
  std::vector<std::string> seen;
  ProcessOutcome outcome;
};

TEST(Registry, SkopeoGetsOneArgumentEach) {
  FakeSpawner spawner;
  const RegistryOptions options{true, "/auth file.json", "amd64"};
  ASSERT_TRUE(fetch_from_registry(spawner, "python:3.12", "/tmp/a b/layout", options, [] { return ok_status(); }).ok());
  EXPECT_THAT(spawner.seen, Contains("docker://python:3.12"));
  EXPECT_THAT(spawner.seen, Contains("oci:/tmp/a b/layout:image"));
  EXPECT_THAT(spawner.seen, Contains("--src-tls-verify=false"));
  EXPECT_THAT(spawner.seen, Contains("--src-authfile=/auth file.json"));
  ASSERT_TRUE(fetch_from_registry(spawner, "x", "/l", {false, "", "amd64"}, [] { return ok_status(); }).ok());
  EXPECT_THAT(spawner.seen, ::testing::Not(Contains("--src-tls-verify=false")));
}

TEST(Registry, CausesAreNamed) {
  const auto of = [](const std::string& text) { return explain_skopeo("x:v1", "time=\"t\" level=fatal msg=\"" + text + "\"\n"); };
  EXPECT_EQ(of("reading manifest v1 in host/x: manifest unknown: manifest unknown").code, ErrorCode::not_found);
  EXPECT_EQ(of("reading manifest: unauthorized: authentication required").code, ErrorCode::unauthenticated);
  EXPECT_EQ(of("pinging container registry h: Get https://h/v2/: dial tcp: lookup h: no such host").code, ErrorCode::unavailable);
  EXPECT_EQ(of("pinging: dial tcp 127.0.0.1:1: connect: connection refused").retry, Retry::same_node);
  EXPECT_THAT(of("http: server gave HTTP response to HTTPS client").message, HasSubstr("option 'insecure'"));
  EXPECT_EQ(of("writing blob: write /w/x: no space left on device").code, ErrorCode::resource_exhausted);
  EXPECT_EQ(of("no image found in manifest list for architecture s390x").code, ErrorCode::failed_precondition);
  const auto strange = of("say \\\"what\\\"?");
  EXPECT_EQ(strange.code, ErrorCode::internal);
  EXPECT_EQ(strange.message, "docker://x:v1: skopeo failed (say \"what\"?)");
}

TEST(ImportSource, KnowsItsForms) {
  EXPECT_EQ(ImportSource::parse("docker://python:3.12")->location, "python:3.12");
  EXPECT_EQ(ImportSource::parse("dir:/a:b")->location, "/a:b");
  const auto layout = ImportSource::parse("oci:/a/b:v1");
  EXPECT_EQ(layout->location, "/a/b");
  EXPECT_EQ(layout->tag, "v1");
  EXPECT_EQ(ImportSource::parse("oci-archive:/a:x/b")->location, "/a:x/b");
}

TEST(ImportSource, RefusesTheRestWithAHint) {
  const std::pair<std::string, std::string> cases[] = {
      {"dokcer://x", "known"},          {"", "must begin with docker://"},      {"python:3.12", "known"},
      {"dir:relative", "be absolute"},  {"tar:", "be absolute"},                {"docker://", "after docker:// comes"},
      {"docker://-x", "after docker"},  {"docker://a b", "after docker"},       {"docker://a;rm", "after docker"},
      {"dir:/" + std::string(5000, 'a'), "longer than 4096"}, {std::string("dir:/a\0b", 8), "NUL"}};
  for (const auto& [text, says] : cases) {
    const auto source = ImportSource::parse(text);
    ASSERT_FALSE(source.ok()) << text;
    EXPECT_EQ(source.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(source.error().message, HasSubstr(says)) << text;
  }
}

}  // namespace
}  // namespace harena::image
