#include "core/pluginhost/plugin_caller.hpp"
#include "core/pluginhost/testing/tiny_host.hpp"

namespace harena {
namespace {

using testing::HasSubstr;

const SandboxId kId = SandboxId::parse("tst01000000000000001").value();

struct BackendAdapterTest : TinyHostTest {
  void SetUp() override {
    load();
    backend = host->backend("tiny").value();
  }
  Result<BackendCreated> create(nlohmann::json params = nlohmann::json::object()) {
    BackendCreateRequest request{kId, "/run/x", "/var/x", std::move(params)};
    return backend->create(call, request);
  }
  Backend* backend = nullptr;
};

TEST_F(BackendAdapterTest, CreatePassesTheRequestWithDefaults) {
  tiny.result = R"({"state": "blob", "session_endpoint": "/run/x/s", "details": {"a": 1}})";
  const auto created = create();
  ASSERT_TRUE(created.ok()) << created.error().describe();
  EXPECT_EQ(created->state, "blob");
  EXPECT_EQ(created->session_endpoint, "/run/x/s");
  const auto sent = nlohmann::json::parse(tiny.input);
  EXPECT_EQ(sent["sandbox_id"], kId.str());
  EXPECT_EQ(sent["params"], nlohmann::json({{"size", 7}}));
}

TEST_F(BackendAdapterTest, BadParamsNeverReachThePlugin) {
  const int calls = tiny.calls;
  EXPECT_EQ(create({{"size", 0}}).error().message, "params.size is 0; at least 1 is right");
  EXPECT_THAT(create({{"sice", 1}}).error().message, HasSubstr("did you mean 'size'"));
  EXPECT_EQ(tiny.calls, calls);
}

TEST_F(BackendAdapterTest, TheCallRecordCarriesDeadlineCancelAndPrincipal) {
  call.deadline_ns = 123;
  call.principal = "token:x";
  call.cancel = std::make_shared<std::atomic<bool>>(true);
  ASSERT_TRUE(backend->stop(call, kId, 5).ok());
  EXPECT_EQ(tiny.deadline_ns, 123);
  EXPECT_EQ(tiny.cancelled, 1);
  EXPECT_STREQ(tiny.principal, "token:x");
  EXPECT_STREQ(tiny.input, kId.str().c_str());
}

TEST_F(BackendAdapterTest, ErrorsPassWithCauseAndRetry) {
  fail(HARENA_RESOURCE_EXHAUSTED, "no memory \xff left");
  const auto refused = create();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::resource_exhausted);
  EXPECT_EQ(refused.error().cause, Cause::agent);
  EXPECT_EQ(refused.error().cause_detail, "memory");
  EXPECT_EQ(refused.error().retry, Retry::other_node);
  EXPECT_EQ(refused.error().message, "no memory \xEF\xBF\xBD left");  // it has to go into JSON
}

TEST_F(BackendAdapterTest, BadResultsAreTheMachinesFault) {
  const auto broken = [&](const char* result, const char* what) {
    tiny.result = result;
    const auto created = create();
    ASSERT_FALSE(created.ok()) << result;
    expect_broken(created.error(), "create", what);
  };
  broken("{", "no JSON object");
  broken("[]", "no JSON object");
  broken("\xff", "no JSON object");
  broken("{}", "'state' is absent");
  broken(R"({"state": 7})", "'state' is 7; a string is right");
  broken(R"({"state": "s", "session_endpoint": "relative"})", "no absolute path");
  broken(R"({"state": "s", "details": []})", "'details' is []; an object is right");
  const std::string large = R"({"state": ")" + std::string(kMaxStateBlobBytes + 1, 'x') + "\"}";
  broken(large.c_str(), "at most 262144 are right");
}

TEST_F(BackendAdapterTest, LiesAboutTheOutcomeAreFoundOut) {
  tiny.result = R"({"state": "s"})";
  tiny.results = 2;
  EXPECT_EQ(create().error().code, ErrorCode::internal);
  tiny.results = 1;
  tiny.lie = 1, tiny.status = HARENA_NOT_FOUND;
  EXPECT_EQ(create().error().code, ErrorCode::internal);
  tiny.status = 99;
  EXPECT_EQ(create().error().code, ErrorCode::internal);
  tiny.lie = 0;
  tiny.items[0] = {"k", "v", 1}, tiny.item_count = 1;
  expect_broken(create().error(), "create", "gave an item");
}

TEST_F(BackendAdapterTest, ProgressIsPassedAndItsExceptionsComeBackHere) {
  tiny.result = R"({"state": "s"})";
  tiny.progress = R"({"stage": "unpack"})";
  std::vector<nlohmann::json> seen;
  call.progress = [&](const nlohmann::json& document) { seen.push_back(document); };
  ASSERT_TRUE(create().ok());
  tiny.progress = "not json";
  ASSERT_TRUE(create().ok());
  EXPECT_EQ(seen.size(), 1u);
  tiny.progress = "{}";
  call.progress = [](const nlohmann::json&) { throw std::runtime_error("ours"); };
  EXPECT_THROW(std::ignore = create(), std::runtime_error);
}

TEST_F(BackendAdapterTest, RecoverKnowsThreeStatuses) {
  tiny.result = R"({"status": "gone", "cause": "limit", "detail": "memory"})";
  const auto gone = backend->recover(call, kId, "blob").value();
  EXPECT_EQ(gone.status, BackendRecovered::Status::gone);
  EXPECT_EQ(gone.detail, "memory");
  tiny.result = R"({"status": "dead"})";
  expect_broken(backend->recover(call, kId, "").error(), "recover", "not running, paused or gone");
  tiny.result = R"({"status": "gone", "cause": "bad luck"})";
  expect_broken(backend->recover(call, kId, "").error(), "recover", "'bad luck'");
}

TEST_F(BackendAdapterTest, ProbeSweepUsageAndPause) {
  tiny.result = R"({"usable": false, "why_not": ["no kvm"], "facts": {"x": 1}})";
  EXPECT_EQ(backend->probe(call).value().why_not, std::vector<std::string>{"no kvm"});
  tiny.result = R"({"removed": ["a", "b"]})";
  EXPECT_EQ(backend->sweep(call, {kId}).value().size(), 2u);
  EXPECT_EQ(std::string(tiny.input), "[\"" + kId.str() + "\"]");
  tiny.result = R"({"removed": [1]})";
  expect_broken(backend->sweep(call, {}).error(), "sweep", "an array of strings");
  tiny.result = R"({"cpu_ns": 5})";
  EXPECT_EQ(backend->usage(call, kId).value()["cpu_ns"], 5);
  tiny.result = nullptr;
  EXPECT_EQ(backend->pause(call, kId).value(), nlohmann::json::object());
}

struct DescriptionTest : TinyHostTest {};

TEST_F(DescriptionTest, AVerbThatIsntListedIsUnimplementedNamingBothAndTheOthers) {
  tiny.description = R"({"name": "tiny", "verbs": ["pause"], "params_schema": {"additionalProperties": false}})";
  load();
  const auto refused = host->backend("tiny").value()->resume(call, kId);
  EXPECT_EQ(refused.error().code, ErrorCode::unimplemented);
  EXPECT_EQ(refused.error().message, "the backend 'tiny' has no verb 'resume'; of the optional ones it has pause");
}

TEST_F(DescriptionTest, WhatCantBeUsedIsRefusedAtLoad) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"params_schema": {"additionalProperties": false}})", "'name' is absent"},
      {R"({"name": "A b", "params_schema": {"additionalProperties": false}})", "has the name 'A b'"},
      {R"({"name": "tiny", "params_schema": {}})", "without \"additionalProperties\": false"},
      {R"({"name": "tiny", "params_schema": {"additionalProperties": false, "frobnicate": 1}})", "frobnicate"},
      {R"({"name": "tiny", "verbs": ["fork"], "params_schema": {"additionalProperties": false}})",
       "lists the verb 'fork', for which it has no function"},
  };
  for (const auto& [description, what] : cases) {
    tiny.description = description;
    expect_broken(refusal(), "describe", what);
    EXPECT_EQ(tiny.instances, 0);
  }
}

}  // namespace
}  // namespace harena
