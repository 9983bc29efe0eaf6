#include "plugins/e2b/control/list_query.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace harena::e2b {
namespace {

using Wanted = std::map<std::string, std::string>;

Record record(std::string id, std::int64_t started_ms, std::string state = "running", Wanted metadata = {}) {
  Record one;
  one.id = std::move(id);
  one.state = std::move(state);
  one.started_ms = started_ms;
  one.extras.template_id = "base";
  one.extras.metadata = std::move(metadata);
  return one;
}
ListQuery query(const char* text, bool is_v1 = false) {
  return parse_list_query(*http::Query::parse(text), is_v1).value();
}
std::vector<std::string> ids(const ListPage& page) {
  std::vector<std::string> out;
  for (const auto& one : page.sandboxes) out.push_back(one.id);
  return out;
}
const std::vector<Record> kSome = {record("b", 2), record("a", 2), record("c", 3, "paused"), record("d", 1, "running", {{"k", "v"}})};

TEST(ListQueryTest, NewestFirst) {
  const auto page = select_page(kSome, query("")).value();
  EXPECT_THAT(ids(page), testing::ElementsAre("c", "b", "a", "d"));
  EXPECT_EQ(page.running, 3u);
  EXPECT_EQ(page.next_token, "");
  EXPECT_THAT(ids(select_page(kSome, query("order=asc")).value()), testing::ElementsAre("d", "a", "b", "c"));
}

TEST(ListQueryTest, PagesGoOnWhereTheyEnded) {
  for (const char* order : {"asc", "desc"}) {
    std::vector<std::string> seen;
    std::string token;
    for (int pages = 0; pages < 10; ++pages) {
      const auto page = select_page(kSome, query(("limit=1&order=" + std::string(order) + "&nextToken=" + token).c_str())).value();
      for (const auto& one : page.sandboxes) seen.push_back(one.id);
      token = page.next_token;
      if (token.empty()) break;
    }
    EXPECT_EQ(seen, ids(select_page(kSome, query(("order=" + std::string(order)).c_str())).value()));
  }
}

TEST(ListQueryTest, FiltersReallyFilter) {
  EXPECT_THAT(ids(select_page(kSome, query("metadata=k%3Dv")).value()), testing::ElementsAre("d"));
  EXPECT_THAT(ids(select_page(kSome, query("metadata=k%3Dw")).value()), testing::IsEmpty());
  EXPECT_THAT(ids(select_page(kSome, query("state=paused")).value()), testing::ElementsAre("c"));
  EXPECT_THAT(ids(select_page(kSome, query("template=other")).value()), testing::IsEmpty());
  EXPECT_THAT(ids(select_page(kSome, query("template=team/base:default")).value()), testing::SizeIs(4));
  EXPECT_THAT(ids(select_page(kSome, query("startedAfter=1970-01-01T00:00:00.002Z")).value()), testing::ElementsAre("c", "b", "a"));
  EXPECT_THAT(ids(select_page(kSome, query("", true)).value()), testing::ElementsAre("b", "a", "d"));
}

TEST(ListQueryTest, MetadataOfAllEncodings) {
  const Wanted wanted = {{"k", "v&w"}, {"x", "y z"}};
  for (const char* text : {"k=v%26w&x=y%20z", "k=v%26w&x=y+z", "k%3Dv%2526w%26x%3Dy%2520z"}) {
    EXPECT_EQ(parse_metadata_filter(text).value(), wanted) << text;
  }
  EXPECT_EQ(parse_metadata_filter("k=v%2526w&x=y%2520z", MetadataEncoding::twice).value(), wanted);
  EXPECT_EQ(metadata_encoding("e2b-python-sdk/2.63.0"), MetadataEncoding::twice);
  EXPECT_EQ(metadata_encoding("e2b-js-sdk/2.51.0"), MetadataEncoding::twice);
  EXPECT_EQ(metadata_encoding("curl/8.0"), MetadataEncoding::once);
  EXPECT_EQ(parse_metadata_filter("nothing").error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(parse_metadata_filter("k=").value(), (Wanted{{"k", ""}}));
}

TEST(ListQueryTest, Times) {
  EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:01.5Z").value(), 1'500);
  EXPECT_EQ(parse_rfc3339("1970-01-01T01:00:00+01:00").value(), 0);
  EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:00-00:30").value(), 1'800'000);
  EXPECT_EQ(parse_rfc3339("2026-11-29T15:21:56.133Z").value() % 1000, 133);
  for (const char* bad : {"", "yesterday", "2026-11-29", "2026-11-29T15:21:56", "2026-11-29T15:21:56Zx"}) {
    EXPECT_FALSE(parse_rfc3339(bad).ok()) << bad;
  }
}

TEST(ListQueryTest, RefusesByName) {
  for (const char* bad : {"limit=0", "limit=101", "state=x", "order=x", "startedAfter=x"}) {
    EXPECT_FALSE(parse_list_query(*http::Query::parse(bad), false).ok()) << bad;
  }
  for (const char* token : {"x", "AAAA", "!!!!", "MQ"}) {
    ListQuery with;
    with.token = token;
    EXPECT_FALSE(select_page(kSome, with).ok()) << token;
  }
}

TEST(RecordTest, ReadsTheApi) {
  const auto sandbox = nlohmann::json::parse(R"({"id": "e0000000000000000001", "backend": "container", "state": "paused",
    "labels": {"frontend": "dev.harena.e2b"}, "created_ms": 1000, "changed_ms": 2000, "expires_ms": 0, "lifetime_s": 60,
    "lifetime_action": "pause", "resume_on_use": true, "params": {"cpu": 1.5, "memory": "64MiB", "env": {"A": "b"}},
    "annotations": {"e2b": "{\"template\":\"base\",\"metadata\":{\"m\":\"n\"},\"public\":false,\"user\":\"user\"}"}})");
  const auto one = record_from(sandbox).value();
  EXPECT_TRUE(one.is_living());
  EXPECT_TRUE(one.is_paused());
  EXPECT_EQ(one.env.at("A"), "b");
  const auto listed = listed_json(one);
  EXPECT_EQ(listed["state"], "paused");
  EXPECT_EQ(listed["cpuCount"], 2);
  EXPECT_EQ(listed["memoryMB"], 64);
  EXPECT_EQ(listed["startedAt"], "1970-01-01T00:00:01.000Z");
  EXPECT_EQ(listed["endAt"], "1970-01-01T00:00:02.000Z");
  auto others = sandbox;
  others["labels"] = nlohmann::json::object();
  EXPECT_EQ(record_from(others).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace harena::e2b
