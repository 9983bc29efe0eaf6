#include <gtest/gtest.h>

#include "plugins/e2b/envd/destination.hpp"
#include "plugins/e2b/envd/files/file_routes.hpp"
#include "plugins/e2b/envd/files/file_upload.hpp"
#include "plugins/e2b/envd/http/gzip.hpp"
#include "plugins/e2b/envd/http/multipart.hpp"
#include "plugins/e2b/envd/http/signature.hpp"

namespace harena::e2b {
namespace {

struct FoundPart {
  PartHead head;
  std::string data;
};

Result<std::vector<FoundPart>> parse_in_steps(std::string_view body, std::size_t step) {
  MultipartParser parser("BOUND");
  std::vector<FoundPart> parts;
  while (true) {
    HARENA_TRY(const auto event, parser.next());
    if (event == MultipartParser::Event::finished) return parts;
    if (event == MultipartParser::Event::begin) parts.push_back({parser.head(), {}});
    if (event == MultipartParser::Event::data) parts.back().data += parser.data();
    if (event != MultipartParser::Event::need_more) continue;
    if (body.empty()) return make_error(ErrorCode::unavailable, "ended early");
    parser.add(body.substr(0, step));
    body.remove_prefix(std::min(step, body.size()));
  }
}

const std::string kTwoParts =
    "preamble\r\n--BOUND\r\nContent-Disposition: form-data; name=\"file\"; filename=\"/home/user/a b;c.txt\"\r\n"
    "Content-Type: application/octet-stream\r\n\r\nfirst\r\n--BOUN\r\n\r\n--BOUND  \r\n"
    "content-disposition: form-data; name=file; filename=\"x\\\"y\"\r\n\r\n\r\n--BOUND--\r\nepilogue";

TEST(Multipart, PartsInPiecesOfAnySize) {
  for (std::size_t step = 1; step <= kTwoParts.size(); ++step) {
    const auto parts = parse_in_steps(kTwoParts, step);
    ASSERT_TRUE(parts.ok()) << step << parts.error().message;
    ASSERT_EQ(parts->size(), 2u) << step;
    EXPECT_EQ(*(*parts)[0].head.filename, "/home/user/a b;c.txt");
    EXPECT_EQ((*parts)[0].head.name, "file");
    EXPECT_EQ((*parts)[0].data, "first\r\n--BOUN\r\n") << step;
    EXPECT_EQ(*(*parts)[1].head.filename, "x\"y");
    EXPECT_EQ((*parts)[1].data, "") << step;
  }
}

TEST(Multipart, RefusesWhatIsNone) {
  EXPECT_FALSE(parse_in_steps("--BOUND\r\nno colon\r\n\r\n--BOUND--", 7).ok());
  EXPECT_FALSE(parse_in_steps("--BOUND\r\nX: y\r\n\r\n--BOUND--", 7).ok());
  EXPECT_FALSE(parse_in_steps("--BOUNDx\r\n", 3).ok());
  EXPECT_EQ(parse_in_steps("nothing", 3).error().code, ErrorCode::unavailable);
  EXPECT_FALSE(parse_in_steps("--BOUND\r\n" + std::string(40'000, 'x'), 1000).ok());
}

TEST(Multipart, Boundaries) {
  EXPECT_EQ(*multipart_boundary("multipart/form-data; boundary=abc"), "abc");
  EXPECT_EQ(*multipart_boundary("Multipart/Form-Data; charset=x; boundary=\"a b\""), "a b");
  EXPECT_FALSE(multipart_boundary("multipart/form-data").ok());
  EXPECT_FALSE(multipart_boundary("text/plain; boundary=x").ok());
  EXPECT_FALSE(multipart_boundary("multipart/form-data; boundary=" + std::string(71, 'a')).ok());
}

TEST(Multipart, NamesOfFiles) {
  EXPECT_FALSE(parse_part_head("Content-Disposition: form-data; name=\"file\"")->filename.has_value());
  EXPECT_EQ(*parse_part_head("Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''%E2%82%AC.txt")->filename, "€.txt");
  EXPECT_EQ(*parse_part_head("Content-Disposition: form-data; filename=\"a\\b\"; name=file")->filename, "a\\b");
}

TEST(Gzip, ThereAndBackAndBombs) {
  const std::string text(3'000'000, 'a');
  const auto packed = gzip(text);
  ASSERT_TRUE(packed.ok());
  EXPECT_LT(packed->size(), 30'000u);
  EXPECT_EQ(*gunzip(*packed, text.size()), text);
  EXPECT_EQ(gunzip(*packed, 1000).error().code, ErrorCode::resource_exhausted);
  EXPECT_EQ(*gunzip(*packed + *packed, 2 * text.size()), text + text);
  EXPECT_FALSE(gunzip(packed->substr(0, packed->size() - 3), text.size()).ok());
  EXPECT_FALSE(gunzip("nothing", 100).ok());
  EXPECT_FALSE(gunzip("", 100).ok());
}

// The vector of the SDKs' own tests.
TEST(Signature, OfTheSdk) {
  const SignedUrl url{"hello.txt", FileOperation::read, "user", "", ""};
  EXPECT_EQ(sign(url, "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0"), "v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E");
}

TEST(Signature, WordsAndOrderOfRefusals) {
  SignedUrl url{"/a", FileOperation::write, "", "", "100"};
  EXPECT_EQ(check_signature(url, "t", 50).error().message, "missing signature query parameter");
  url.signature = sign(url, "other");
  EXPECT_EQ(check_signature(url, "t", 500).error().message, "invalid signature");
  url.signature = sign(url, "t");
  EXPECT_EQ(check_signature(url, "t", 101).error().message, "signature is already expired");
  EXPECT_TRUE(check_signature(url, "t", 100).ok());
  url.path = "/b";
  EXPECT_FALSE(check_signature(url, "t", 50).ok());
}

std::optional<Destination> to(const http::Headers& headers, std::string_view domain = "") {
  auto found = find_destination(headers, "/", domain);
  return found.ok() ? *found : std::nullopt;
}

TEST(Destination, HostWinsOverHeaders) {
  EXPECT_EQ(to({{"Host", "8080-abc123.example.org:443"}, {"E2b-Sandbox-Id", "other"}, {"E2b-Sandbox-Port", "1"}}), (Destination{"abc123", 8080}));
  EXPECT_EQ(to({{"Host", "8080-ABC-client.example.org"}}), (Destination{"abc", 8080}));
  EXPECT_EQ(to({{"Host", "127.0.0.1:7400"}, {"E2b-Sandbox-Id", "abc"}, {"E2b-Sandbox-Port", "49983"}}), (Destination{"abc", 49983}));
  const auto control = find_destination({{"Host", "x"}, {"E2b-Sandbox-Id", "abc"}, {"E2b-Sandbox-Port", "49983"}, {"X-API-Key", "k"}}, "/v2/sandboxes", "");
  EXPECT_TRUE(control.ok() && !*control) << "a call of the control API, which has no business in a sandbox";
  EXPECT_EQ(to({{"Host", "x"}, {"E2b-Sandbox-Id", "abc"}, {"E2b-Sandbox-Port", "80"}, {"X-API-Key", "k"}}), (Destination{"abc", 80}));
  EXPECT_EQ(to({{"Host", "[::1]:7400"}, {"E2b-Sandbox-Id", "abc"}, {"E2b-Sandbox-Port", "5"}}), (Destination{"abc", 5}));
  EXPECT_EQ(to({{"Host", "sandbox.example.org"}, {"E2b-Sandbox-Id", "abc"}, {"E2b-Sandbox-Port", "5"}}), (Destination{"abc", 5}));
  EXPECT_FALSE(to({{"Host", "example.org"}}).has_value());
}

TEST(Destination, OfReleasesThatSendAllTheirHeadersToBoth) {
  const http::Headers both = {{"Host", "x"}, {"E2b-Sandbox-Id", "abc"}, {"E2b-Sandbox-Port", "49983"}, {"X-API-Key", "k"}};
  for (const auto* path : {"/sandboxes/abc/connect", "/v2/sandboxes", "/templates/x/files/y", "/teams"}) EXPECT_FALSE(*find_destination(both, path, "")) << path;
  for (const auto* path : {"/process.Process/Start", "/filesystem.Filesystem/Stat", "/files", "/files/compose", "/health", "/envs", "/metrics"}) {
    EXPECT_EQ(*find_destination(both, path, ""), (Destination{"abc", 49983})) << path;
  }
}

TEST(Destination, OnlyInTheDomain) {
  EXPECT_FALSE(to({{"Host", "7-eleven.com"}}, "example.org:8443").has_value());
  EXPECT_EQ(to({{"Host", "7-eleven.example.org:8443"}}, "example.org:8443"), (Destination{"eleven", 7}));
  EXPECT_EQ(to({{"Host", "7-eleven.localhost:7400"}}, "localhost:7400"), (Destination{"eleven", 7}));
}

TEST(Destination, RefusesHalves) {
  EXPECT_FALSE(find_destination({{"Host", "x"}, {"E2b-Sandbox-Id", "abc"}}, "/", "").ok());
  EXPECT_FALSE(find_destination({{"Host", "x"}, {"E2b-Sandbox-Port", "1"}}, "/", "").ok());
  EXPECT_FALSE(find_destination({{"Host", "70000-abc.example.org"}}, "/", "").ok());
  EXPECT_FALSE(find_destination({{"Host", "0-abc.example.org"}}, "/", "").ok());
  EXPECT_FALSE(find_destination({{"Host", "x"}, {"E2b-Sandbox-Id", "../v1"}, {"E2b-Sandbox-Port", "1"}}, "/", "").ok());
}

TEST(Files, CodingThatIsWanted) {
  const auto coding = [](const char* text) { return wanted_coding({{"Accept-Encoding", text}}); };
  EXPECT_EQ(coding("gzip"), Coding::gzip);
  EXPECT_EQ(coding("gzip, deflate"), Coding::identity);
  EXPECT_EQ(coding("identity"), Coding::identity);
  EXPECT_EQ(coding("gzip;q=0.5, identity"), Coding::identity);
  EXPECT_EQ(coding("gzip, identity;q=0.5"), Coding::gzip);
  EXPECT_EQ(coding("identity;q=0"), Coding::none);
  EXPECT_EQ(coding("br, *;q=0"), Coding::none);
  EXPECT_EQ(wanted_coding({}), Coding::identity);
}

TEST(Files, TypesAndNames) {
  EXPECT_EQ(media_type("a.png", ""), "image/png");
  EXPECT_EQ(media_type("a", "text\n"), "text/plain; charset=utf-8");
  EXPECT_EQ(media_type("a", std::string_view("\0\1", 2)), "application/octet-stream");
  EXPECT_EQ(content_disposition("a.txt"), "inline; filename=a.txt");
  EXPECT_EQ(content_disposition("a \"b\".txt"), "inline; filename=\"a \\\"b\\\".txt\"");
  EXPECT_EQ(content_disposition("€"), "inline; filename*=utf-8''%E2%82%AC");
}

TEST(Files, Metadata) {
  const auto found = metadata_of({{"X-Metadata-Author", "me"}, {"x-metadata-b", ""}, {"Other", "x"}});
  EXPECT_EQ(*found, (Metadata{{"author", "me"}, {"b", ""}}));
  EXPECT_FALSE(metadata_of({{"X-Metadata-a", "\xc3\xa4"}}).ok());
  EXPECT_FALSE(metadata_of({{"X-Metadata-a", std::string(4096, 'x')}}).ok());
  EXPECT_FALSE(metadata_of({{"X-Metadata-" + std::string(247, 'k'), "x"}}).ok());
  EXPECT_TRUE(metadata_of({{"X-Metadata-" + std::string(246, 'k'), "x"}}).ok());
  EXPECT_FALSE(metadata_of({{"X-Metadata-", "x"}}).ok());
}

}  // namespace
}  // namespace harena::e2b
