#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "sdk/cpp/plugin.hpp"

namespace {

using namespace harena;
using namespace harena::plugin;

constexpr std::string_view kSchema = R"({"type":"object","additionalProperties":false,"properties":{}})";

class Sample final : public BackendPlugin, public StateStorePlugin {
 public:
  static constexpr Info kInfo{.licence = "Apache-2.0", .config_schema = kSchema};
  static Result<std::unique_ptr<Sample>> make(const Call&, Host, const json& config) {
    if (config.contains("fail")) return make_error(ErrorCode::failed_precondition, "no such host");
    auto made = std::make_unique<Sample>();
    made->freezer_ = config.value("freezer", true);
    return made;
  }
  Result<json> describe(const Call&) override { return json{{"name", "sample"}}; }
  Result<json> probe(const Call&) override { throw std::runtime_error("probe blew up"); }
  Result<json> create(const Call&, const json&) override { throw 42; }
  Result<json> recover(const Call&, std::string_view, std::string_view) override { return json{{"a", "\xff"}}; }
  Status stop(const Call&, std::string_view, std::int64_t) override {
    Error error = make_error(ErrorCode::ok, "forgot the code");
    return error;
  }
  Result<json> sweep(const Call&, const std::vector<std::string>& ids) override { return json{{"removed", ids}}; }
  Result<json> usage(const Call&, std::string_view id) override {
    return infrastructure_error(ErrorCode::not_found, "store", "no " + std::string(id)).during("asking");
  }
  Result<json> pause(const Call&, std::string_view) override { return json::object(); }
  Result<json> resume(const Call&, std::string_view) override { return json::object(); }
  Result<json> fork(const Call&, std::string_view, const json& requests) override { return requests; }
  bool has_verb(std::string_view verb) const override { return freezer_ || verb == "fork"; }

  Result<std::int64_t> get(const Call& call, std::string_view key) override {
    HARENA_TRY_STATUS(call.emit(key, {}, 3));
    return 7;
  }
  Result<std::int64_t> range(const Call&, std::string_view, std::string_view, std::int64_t) override { return 1; }
  Result<std::int64_t> txn(const Call&, std::span<const StateOp> ops) override { return std::ssize(ops); }
  Status watch(const Call& call, std::string_view prefix, std::int64_t) override {
    return call.emit_deleted(prefix, 9);
  }

 private:
  bool freezer_ = true;
};

HARENA_PLUGIN(Sample)

// What one call put into its sink.
struct Outcome {
  int results = 0, errors = 0, items = 0;
  std::string result, message, detail;
  harena_error last{};
  bool deleted = false;
  harena_sink sink{sizeof(harena_sink), this, &on_result, &on_item, &on_error, nullptr};
  harena_call call{sizeof(harena_call), 0, 0, nullptr, nullptr, {}, {}, &sink};

  static Outcome& of(void* context) { return *static_cast<Outcome*>(context); }
  static void on_result(void* c, harena_str text) { of(c).results++, of(c).result = to_view(text); }
  static int32_t on_item(void* c, harena_str, harena_str value, int64_t) {
    of(c).items++, of(c).deleted = value.ptr == nullptr;
    return 0;
  }
  static void on_error(void* c, const harena_error* error) {
    of(c).errors++, of(c).last = *error;
    of(c).message = to_view(error->message), of(c).detail = to_view(error->cause_detail);
  }
};

class PluginCpp : public testing::Test {
 protected:
  void* make(std::string_view config = "{}") {
    Outcome made;
    void* instance = nullptr;
    EXPECT_EQ(HARENA_OK, descriptor->create(&made.call, nullptr, to_abi(config), &instance)) << made.message;
    return instance;
  }
  const harena_backend& backend() {
    return *static_cast<const harena_backend*>(descriptor->get_contract(self, to_abi(HARENA_BACKEND_CONTRACT)));
  }
  const harena_state_store& store() {
    return *static_cast<const harena_state_store*>(
        descriptor->get_contract(self, to_abi(HARENA_STATE_STORE_CONTRACT)));
  }
  void TearDown() override { descriptor->destroy(self); }

  const harena_plugin_descriptor* descriptor = harena_plugin_entry();
  void* self = make();
  Outcome out;
};

TEST_F(PluginCpp, DescriptorNamesContractsOfTheBaseClasses) {
  ASSERT_EQ(2u, descriptor->contract_count);
  EXPECT_EQ("harena.backend/1", to_view(descriptor->contracts[0]));
  EXPECT_EQ("harena.state-store/1", to_view(descriptor->contracts[1]));
  EXPECT_EQ(nullptr, descriptor->get_contract(self, to_abi("harena.image-store/1")));
  EXPECT_EQ(nullptr, descriptor->get_contract(nullptr, to_abi(HARENA_BACKEND_CONTRACT)));
}

TEST_F(PluginCpp, OptionalVerbsAreThoseOverridden) {
  EXPECT_NE(nullptr, backend().pause);
  EXPECT_NE(nullptr, backend().fork);
  EXPECT_EQ(nullptr, backend().snapshot);
  EXPECT_EQ(nullptr, backend().rollback);
  EXPECT_EQ(HARENA_OK, backend().describe(self, &out.call));
  EXPECT_EQ(json({"pause", "resume", "fork"}), json::parse(out.result)["verbs"]);
}

TEST_F(PluginCpp, AnInstanceMayLackAVerb) {
  void* other = make(R"({"freezer": false})");
  auto* table = static_cast<const harena_backend*>(descriptor->get_contract(other, to_abi(HARENA_BACKEND_CONTRACT)));
  EXPECT_EQ(nullptr, table->pause);
  EXPECT_NE(nullptr, table->fork);
  descriptor->destroy(other);
}

TEST_F(PluginCpp, ExceptionsEndAtTheBoundary) {
  EXPECT_EQ(HARENA_INTERNAL, backend().probe(self, &out.call));
  EXPECT_EQ("probe blew up", out.message);
  EXPECT_EQ(HARENA_UNKNOWN, backend().create(self, &out.call, to_abi("{}")));
  EXPECT_EQ(HARENA_INTERNAL, backend().recover(self, &out.call, to_abi("x"), to_abi("")));  // not UTF-8
  EXPECT_EQ(3, out.errors);
  EXPECT_EQ(0, out.results);
}

TEST_F(PluginCpp, ErrorsKeepCodeCauseRetryAndContext) {
  EXPECT_EQ(HARENA_NOT_FOUND, backend().usage(self, &out.call, to_abi("sb")));
  EXPECT_EQ("asking: no sb", out.message);
  EXPECT_EQ("store", out.detail);
  EXPECT_EQ(HARENA_CAUSE_INFRASTRUCTURE, out.last.cause);
  EXPECT_EQ(HARENA_RETRY_OTHER_NODE, out.last.retry);
}

TEST_F(PluginCpp, AFailureWithoutACodeIsStillAFailure) {
  EXPECT_EQ(HARENA_UNKNOWN, backend().stop(self, &out.call, to_abi("sb"), 0));
  EXPECT_EQ(1, out.errors);
}

TEST_F(PluginCpp, InputThatIsNotJsonIsRefused) {
  EXPECT_EQ(HARENA_INVALID_ARGUMENT, backend().create(self, &out.call, to_abi("{")));
  EXPECT_NE(std::string::npos, out.message.find("the request of create isn't JSON")) << out.message;
}

TEST_F(PluginCpp, LateAndCancelledCallsDoNotReachThePlugin) {
  out.call.deadline_ns = 1;
  EXPECT_EQ(HARENA_DEADLINE_EXCEEDED, backend().create(self, &out.call, to_abi("{}")));
  out.call.deadline_ns = 0;
  out.call.cancelled = [](void*) { return int32_t{1}; };
  EXPECT_EQ(HARENA_CANCELLED, backend().create(self, &out.call, to_abi("{}")));
  EXPECT_EQ(2, out.errors);
}

TEST_F(PluginCpp, FailedCreateLeavesTheOutValueAlone) {
  void* untouched = &out;
  EXPECT_EQ(HARENA_FAILED_PRECONDITION, descriptor->create(&out.call, nullptr, to_abi(R"({"fail":1})"), &untouched));
  EXPECT_EQ(&out, untouched);
  EXPECT_EQ(1, out.errors);
}

TEST_F(PluginCpp, EmptyValuesAndDeletionsDiffer) {
  EXPECT_EQ(HARENA_OK, store().get(self, &out.call, to_abi("k")));
  EXPECT_FALSE(out.deleted);
  EXPECT_EQ(R"({"revision":7})", out.result);
  EXPECT_EQ(HARENA_OK, store().watch(self, &out.call, to_abi("k"), 0));
  EXPECT_TRUE(out.deleted);
}

TEST_F(PluginCpp, StateStoreLimitsAreCheckedBeforeThePlugin) {
  std::string long_key(1025, 'k');
  EXPECT_EQ(HARENA_INVALID_ARGUMENT, store().get(self, &out.call, to_abi("")));
  EXPECT_EQ(HARENA_INVALID_ARGUMENT, store().get(self, &out.call, to_abi(long_key)));
  EXPECT_EQ(HARENA_INVALID_ARGUMENT, store().range(self, &out.call, {}, {}, 0));
  EXPECT_EQ(HARENA_INVALID_ARGUMENT, store().range(self, &out.call, {}, {}, 10001));
  EXPECT_EQ(HARENA_INVALID_ARGUMENT, store().txn(self, &out.call, nullptr, 0));
  harena_state_op put{sizeof(harena_state_op), HARENA_STATE_PUT, to_abi("a"), to_abi("1"), 0};
  const harena_state_op* twice[] = {&put, &put};
  EXPECT_EQ(HARENA_INVALID_ARGUMENT, store().txn(self, &out.call, twice, 2));
  EXPECT_NE(std::string::npos, out.message.find("'a' is changed twice")) << out.message;
  EXPECT_EQ(HARENA_OK, store().txn(self, &out.call, twice, 1));
}

TEST_F(PluginCpp, ASinkOfAnOlderHostIsNotReadBeyondItsSize) {
  out.sink.struct_size = offsetof(harena_sink, progress);
  out.sink.progress = reinterpret_cast<void (*)(void*, harena_str)>(1);
  Call(&out.call).progress({{"stage", "x"}});  // would crash
  EXPECT_EQ(HARENA_OK, backend().describe(self, &out.call));
}

}  // namespace
