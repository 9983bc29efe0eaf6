// The contract through the C table, as the host calls it.

#include <gmock/gmock.h>

#include <fstream>

#include <nlohmann/json.hpp>

#include "plugins/imagestore-local/test_support.hpp"
#include "sdk/abi/image_store.h"
#include "sdk/abi/plugin.h"

extern "C" const harena_plugin_descriptor* harena_plugin_entry_imagestore_local();

namespace harena::imagestore {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

harena_str str(std::string_view text) { return {text.data(), text.size()}; }
std::string text(harena_str s) { return {s.ptr, s.len}; }

/// A call with everything that it answers.
struct Answer {
  json result;
  std::string error;
  std::vector<std::pair<std::string, std::int64_t>> items;
  bool cancel = false;
  harena_sink sink{};
  harena_call call{};

  Answer() {
    sink.struct_size = sizeof sink;
    sink.context = this;
    sink.result = [](void* self, harena_str bytes) { static_cast<Answer*>(self)->result = json::parse(text(bytes)); };
    sink.item = [](void* self, harena_str key, harena_str, std::int64_t revision) {
      static_cast<Answer*>(self)->items.emplace_back(text(key), revision);
      return 0;
    };
    sink.error = [](void* self, const harena_error* error) { static_cast<Answer*>(self)->error = text(error->message); };
    sink.progress = [](void*, harena_str) {};
    call.struct_size = sizeof call;
    call.cancelled = [](void* self) { return static_cast<Answer*>(self)->cancel ? 1 : 0; };
    call.cancel_context = this;
    call.sink = &sink;
  }
};

class Plugin : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto config = json{{"root", folder_.path("s")}}.dump();
    Answer answer;
    ASSERT_EQ(descriptor_->create(&answer.call, nullptr, str(config), &instance_), HARENA_OK) << answer.error;
    store_ = static_cast<const harena_image_store*>(descriptor_->get_contract(instance_, str(HARENA_IMAGE_STORE_CONTRACT)));
    ASSERT_NE(store_, nullptr);
  }
  void TearDown() override { descriptor_->destroy(instance_); }
  std::string put(std::string_view bytes) {
    Answer answer;
    const auto file = memory_file(bytes);
    EXPECT_EQ(store_->put(instance_, &answer.call, str(""), file.get()), HARENA_OK) << answer.error;
    return answer.result["digest"];
  }

  TestFolder folder_;
  const harena_plugin_descriptor* descriptor_ = harena_plugin_entry_imagestore_local();
  void* instance_ = nullptr;
  const harena_image_store* store_ = nullptr;
};

TEST_F(Plugin, DescribesItself) {
  EXPECT_EQ(text(descriptor_->id), "dev.harena.imagestore-local");
  const auto schema = json::parse(text(descriptor_->config_schema));
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["properties"]["root"]["default"], "/var/lib/harena/images");
  EXPECT_EQ(descriptor_->get_contract(instance_, str("harena.image-store/2")), nullptr);
}

TEST_F(Plugin, AStoreInUseIsRefusedByName) {
  Answer answer;
  void* second = nullptr;
  const auto config = json{{"root", folder_.path("s")}}.dump();
  EXPECT_EQ(descriptor_->create(&answer.call, nullptr, str(config), &second), HARENA_FAILED_PRECONDITION);
  EXPECT_THAT(answer.error, HasSubstr("used by another process"));
  EXPECT_EQ(second, nullptr);
}

TEST_F(Plugin, PutOpenTagListRemove) {
  const auto digest = put("hello");
  Answer opened;
  ASSERT_EQ(store_->open(instance_, &opened.call, str(digest)), HARENA_OK);
  std::ifstream file(opened.result["path"].get<std::string>());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "hello");
  Answer tagged;
  ASSERT_EQ(store_->tag(instance_, &tagged.call, str("root/a:v1"), str(digest)), HARENA_OK);
  Answer resolved;
  ASSERT_EQ(store_->resolve(instance_, &resolved.call, str("root/a:v1")), HARENA_OK);
  EXPECT_EQ(resolved.result["digest"], digest);
  Answer listed;
  ASSERT_EQ(store_->list(instance_, &listed.call, str("root/"), str(""), 10), HARENA_OK);
  ASSERT_EQ(listed.items.size(), 1u);
  Answer refused;
  EXPECT_EQ(store_->remove(instance_, &refused.call, str(digest)), HARENA_FAILED_PRECONDITION);
  EXPECT_THAT(refused.error, HasSubstr("root/a:v1"));
  Answer removed;
  EXPECT_EQ(store_->remove(instance_, &removed.call, str("root/a:v1")), HARENA_OK);
  EXPECT_EQ(store_->remove(instance_, &removed.call, str(digest)), HARENA_OK);
  Answer gone;
  EXPECT_EQ(store_->open(instance_, &gone.call, str(digest)), HARENA_NOT_FOUND);
  EXPECT_THAT(gone.error, HasSubstr(digest));
}

TEST_F(Plugin, CheckNamesDamage) {
  const auto digest = put("hello");
  put("other");
  Answer blobs;
  ASSERT_EQ(store_->list_blobs(instance_, &blobs.call, str(""), 10), HARENA_OK);
  ASSERT_EQ(blobs.items.size(), 2u);
  EXPECT_EQ(blobs.items[0].second, 5);
  std::ofstream(folder_.path("s/blobs/sha256/" + digest.substr(7))) << "jello";
  Answer checked;
  ASSERT_EQ(store_->check(instance_, &checked.call, str("")), HARENA_OK);
  EXPECT_EQ(checked.result, (json{{"checked", 2}, {"damaged", {digest}}}));
  Answer one;
  EXPECT_EQ(store_->check(instance_, &one.call, str("sha256:" + std::string(64, '0'))), HARENA_NOT_FOUND);
}

TEST_F(Plugin, BadCallsAreTypedErrors) {
  Answer answer;
  EXPECT_EQ(store_->list(instance_, &answer.call, str(""), str(""), 0), HARENA_INVALID_ARGUMENT);
  EXPECT_THAT(answer.error, HasSubstr("limit is 0; it must be from 1 to 10000"));
  EXPECT_EQ(store_->list_blobs(instance_, &answer.call, str(""), 10'001), HARENA_INVALID_ARGUMENT);
  EXPECT_EQ(store_->put(instance_, &answer.call, str("md5:x"), 0), HARENA_INVALID_ARGUMENT);
  EXPECT_EQ(store_->put(instance_, &answer.call, str(""), -1), HARENA_INVALID_ARGUMENT);
  answer.cancel = true;
  const auto file = memory_file("x");
  EXPECT_EQ(store_->put(instance_, &answer.call, str(""), file.get()), HARENA_CANCELLED);
  Answer late;
  late.call.deadline_ns = 1;
  EXPECT_EQ(store_->put(instance_, &late.call, str(""), file.get()), HARENA_DEADLINE_EXCEEDED);
}

}  // namespace
}  // namespace harena::imagestore
