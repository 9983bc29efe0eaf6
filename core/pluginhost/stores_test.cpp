// The adapters of state store and image store.

#include "core/pluginhost/testing/tiny_host.hpp"

namespace harena {
namespace {

const std::string kDigest = "sha256:" + std::string(64, 'a');
const std::string kOther = "sha256:" + std::string(64, 'b');

void items(std::vector<tiny_item> list) {
  std::copy(list.begin(), list.end(), tiny.items);
  tiny.item_count = static_cast<int>(list.size());
}

struct StoreAdapterTest : TinyHostTest {
  void SetUp() override {
    load();
    state = host->state_store().value();
    images = host->image_store().value();
  }
  StateStore* state = nullptr;
  ImageStore* images = nullptr;
};

TEST_F(StoreAdapterTest, GetGivesOneOrNone) {
  EXPECT_FALSE(state->get(call, "k").value().has_value());
  items({{"k", "v", 3}});
  const auto entry = state->get(call, "k").value();
  EXPECT_EQ(entry->value, "v");
  EXPECT_EQ(entry->revision, 3);
  items({{"other", "v", 3}});
  expect_broken(state->get(call, "k").error(), "get", "another key");
  items({{"k", "v", 3}, {"k", "v", 3}});
  expect_broken(state->get(call, "k").error(), "get", "more than the 1 items");
}

TEST_F(StoreAdapterTest, RangesAreCheckedForOrderBoundsAndLimit) {
  items({{"a", "1", 1}, {"b", "", 2}});
  EXPECT_EQ(state->range(call, "a", "c", 2).value().size(), 2u);
  expect_broken(state->range(call, "a", "c", 1).error(), "range", "more than the 1 items");
  expect_broken(state->range(call, "a", "b", 2).error(), "range", "outside the range");
  items({{"b", "", 1}, {"a", "", 1}});
  expect_broken(state->range(call, "", "", 5).error(), "range", "out of order");
  items({{"a", nullptr, 1}});
  expect_broken(state->range(call, "", "", 5).error(), "range", "without a value");
  items({{"a", "", 0}});
  expect_broken(state->range(call, "", "", 5).error(), "range", "revision 0");
}

TEST_F(StoreAdapterTest, TransactionsGiveTheirRevision) {
  tiny.result = R"({"revision": 12})";
  EXPECT_EQ(state->txn(call, {StateOp::check("x", 0), StateOp::put("last", "v")}).value(), 12);
  EXPECT_STREQ(tiny.input, "last");
  EXPECT_EQ(tiny.flags, 0u);
  EXPECT_EQ(state->txn(call, {StateOp::put("x", "")}, Durability::process).value(), 12);
  EXPECT_EQ(tiny.flags, 1u) << "HARENA_STATE_RELAXED";
  for (const char* bad : {"{}", R"({"revision": -1})", R"({"revision": 1.5})", R"({"revision": 18446744073709551615})"}) {
    tiny.result = bad;
    expect_broken(state->txn(call, {StateOp::put("x", "")}).error(), "txn", "'revision'");
  }
  fail(HARENA_ABORTED, "the key 'x' has revision 4");
  EXPECT_EQ(state->txn(call, {StateOp::check("x", 0)}).error().code, ErrorCode::aborted);
}

TEST_F(StoreAdapterTest, AWatchPassesChangesUntilItIsTold) {
  items({{"p/a", "1", 5}, {"p/b", nullptr, 5}, {"p/a", "2", 6}});
  fail(HARENA_CANCELLED, "stopped");
  std::vector<std::string> seen;
  const auto note = [&](const std::string& key, const std::optional<std::string>& value, std::int64_t revision) {
    seen.push_back(key + (value ? "=" + *value : " gone") + " @" + std::to_string(revision));
    return true;
  };
  EXPECT_EQ(state->watch(call, "p/", 4, note).error().code, ErrorCode::cancelled);
  EXPECT_THAT(seen, testing::ElementsAre("p/a=1 @5", "p/b gone @5", "p/a=2 @6"));
  expect_broken(state->watch(call, "p/", 5, note).error(), "watch", "out of order");
  expect_broken(state->watch(call, "q/", 4, note).error(), "watch", "outside the prefix");
  tiny.error = {};
  expect_broken(state->watch(call, "p/", 4, note).error(), "watch", "without being told");
}

TEST_F(StoreAdapterTest, PutChecksTheDigest) {
  const std::string good = R"({"digest": ")" + kDigest + R"(", "size": 5})";
  tiny.result = good.c_str();
  EXPECT_EQ(images->put(call, "", 0).value().size, 5);
  EXPECT_TRUE(images->put(call, kDigest, 0).ok());
  expect_broken(images->put(call, kOther, 0).error(), "put", "another digest");
  tiny.result = R"({"digest": "md5:x", "size": 5})";
  expect_broken(images->put(call, "", 0).error(), "put", "sha256:");
}

TEST_F(StoreAdapterTest, OpenAndResolve) {
  tiny.result = R"({"path": "/blob", "size": 1})";
  EXPECT_EQ(images->open(call, kDigest).value().path, "/blob");
  tiny.result = R"({"path": "blob", "size": 1})";
  expect_broken(images->open(call, kDigest).error(), "open", "isn't absolute");
  expect_broken(images->resolve(call, "a").error(), "resolve", "'digest' is absent");
  fail(HARENA_NOT_FOUND, "no tag 'a'");
  EXPECT_EQ(images->resolve(call, "a").error().code, ErrorCode::not_found);
}

TEST_F(StoreAdapterTest, ListsAreChecked) {
  items({{"p/a", kDigest.c_str(), 0}, {"p/b", kDigest.c_str(), 0}});
  EXPECT_EQ(images->list(call, "p/", "", 5).value().size(), 2u);
  expect_broken(images->list(call, "p/", "p/a", 5).error(), "list", "out of order");
  expect_broken(images->list(call, "q/", "", 5).error(), "list", "outside the prefix");
  expect_broken(images->list(call, "", "", 1).error(), "list", "more than the 1 items");
  items({{kDigest.c_str(), "", 7}, {kOther.c_str(), "", 8}});
  EXPECT_EQ(images->list_blobs(call, "", 5).value()[1].size, 8);
  items({{kDigest.c_str(), "", -1}});
  expect_broken(images->list_blobs(call, "", 5).error(), "list_blobs", "negative size");
}

TEST_F(StoreAdapterTest, CheckTellsDamageAsAResult) {
  const std::string damaged = R"({"checked": 2, "damaged": [")" + kDigest + "\"]}";
  tiny.result = damaged.c_str();
  EXPECT_EQ(images->check(call, "").value(), std::vector<std::string>{kDigest});
  tiny.result = nullptr;
  EXPECT_TRUE(images->tag(call, "a", kDigest).ok());
  EXPECT_TRUE(images->remove(call, "a").ok());
}

}  // namespace
}  // namespace harena
