#include "plugins/fake/fake_backend.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <future>
#include <mutex>

#include "sdk/conformance/drivers.hpp"

extern "C" const harena_plugin_descriptor* harena_plugin_entry_fake();

namespace harena::fake {
namespace {

using conformance::BackendDriver;
using testing::HasSubstr;

// A host that keeps the events.
struct EventHost {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<json> events;
  harena_host host{sizeof(harena_host), this, [](void*, int32_t, harena_str) {}, &on_event, nullptr};

  static void on_event(void* self, harena_str text) {
    auto& me = *static_cast<EventHost*>(self);
    std::lock_guard lock(me.mutex);
    me.events.push_back(json::parse(loader::to_view(text)));
    me.changed.notify_all();
  }
  json wait_first() {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, std::chrono::seconds(10), [this] { return !events.empty(); });
    return events.empty() ? json() : events.front();
  }
};

class Fake : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "harena-fake-XXXXXX";
    dir = ::mkdtemp(pattern.data());
    start();
  }
  void TearDown() override {
    instance.reset();
    std::filesystem::remove_all(dir);
  }
  // As a restart of the host does: the old instance is gone.
  void start(json config = json::object()) {
    instance.reset();
    config["state_dir"] = dir + "/state";
    auto library = loader::Library::from_descriptor(harena_plugin_entry_fake());
    ASSERT_TRUE(library.ok()) << library.error().describe();
    auto made = (*library)->create(&host.host, config);
    ASSERT_TRUE(made.ok()) << made.error().describe();
    instance = *std::move(made);
    driver.emplace(*BackendDriver::of(*instance));
  }
  json request(const std::string& id, json params = json::object()) {
    return {{"sandbox_id", id}, {"run_dir", dir}, {"state_dir", dir}, {"params", std::move(params)}, {"layers", json::array()}};
  }
  Result<json> create(const std::string& id, json params = json::object()) { return driver->create(request(id, std::move(params))); }

  std::string dir;
  EventHost host;
  std::unique_ptr<loader::Instance> instance;
  std::optional<BackendDriver> driver;
};

TEST_F(Fake, SandboxesOutliveTheHost) {
  ASSERT_TRUE(create("a", {{"note", "hello"}}).ok());
  ASSERT_TRUE(driver->pause("a").ok());
  start();
  EXPECT_EQ("paused", (*driver->recover("a", "fake/1"))["status"]);
  EXPECT_EQ("gone", (*driver->recover("b", ""))["status"]);
  EXPECT_EQ(json::array({"a"}), (*driver->sweep(json::array()))["removed"]);
  EXPECT_EQ("gone", (*driver->recover("a", "fake/1"))["status"]);
}

TEST_F(Fake, ErrorsAreScripted) {
  json rule = {{"verb", "create"}, {"times", 1}, {"skip", 1},
               {"error", {{"code", "resource_exhausted"}, {"message", "no room"}, {"cause", "infrastructure"}, {"retry", "other_node"}}}};
  start({{"script", {rule}}});
  ASSERT_TRUE(create("a").ok());
  auto refused = create("b");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(ErrorCode::resource_exhausted, refused.error().code);
  EXPECT_EQ("no room", refused.error().message);
  EXPECT_EQ(Retry::other_node, refused.error().retry);
  EXPECT_TRUE(create("b").ok());
}

TEST_F(Fake, CountsOfRulesOutliveTheHost) {
  json config = {{"script", {{{"verb", "probe"}, {"times", 1}, {"error", {{"code", "unavailable"}}}}}}};
  start(config);
  EXPECT_FALSE(driver->probe().ok());
  start(config);
  EXPECT_TRUE(driver->probe().ok());
}

TEST_F(Fake, AfterMeansThatTheVerbWasDone) {
  json params = {{"script", {{{"verb", "create"}, {"when", "after"}, {"error", {{"code", "unavailable"}}}}}}};
  EXPECT_EQ(ErrorCode::unavailable, create("a", params).error().code);
  EXPECT_EQ("running", (*driver->recover("a", ""))["status"]);
  EXPECT_EQ(ErrorCode::already_exists, create("a").error().code);
  EXPECT_TRUE(driver->stop("a").ok());
  EXPECT_TRUE(create("a").ok());
}

TEST_F(Fake, BeforeLeavesNothing) {
  json params = {{"script", {{{"verb", "create"}, {"error", {{"code", "internal"}}}}}}};
  EXPECT_FALSE(create("a", params).ok());
  EXPECT_EQ("gone", (*driver->recover("a", ""))["status"]);
  EXPECT_EQ(json::array(), (*driver->sweep(json::array()))["removed"]);
}

TEST_F(Fake, DelaysEndWithTheCall) {
  json slow = {{"script", {{{"verb", "create"}, {"delay_ms", 600000}}}}};
  int asked = 0;
  auto cancelled = driver->create(request("a", slow), {.cancelled = [&asked] { return ++asked > 3; }});
  EXPECT_EQ(ErrorCode::cancelled, cancelled.error().code);
  EXPECT_EQ("gone", (*driver->recover("a", ""))["status"]);
}

TEST_F(Fake, ExceptionsAndCrashesAreScripted) {
  EXPECT_EQ(ErrorCode::internal, create("a", {{"script", {{{"verb", "create"}, {"throws", true}}}}}).error().code);
  EXPECT_DEATH((void)create("b", {{"script", {{{"verb", "create"}, {"crash", true}}}}}), "");
  // The crash left a half-made entry behind: stop removes it.
  EXPECT_EQ("gone", (*driver->recover("b", ""))["status"]);
  EXPECT_TRUE(driver->stop("b").ok());
  EXPECT_EQ(json::array(), (*driver->sweep(json::array()))["removed"]);
}

TEST_F(Fake, ExitsAreEvents) {
  ASSERT_TRUE(create("a", {{"exit", {{"after_ms", 0}, {"cause", "limit"}, {"detail", "memory"}}}}).ok());
  json event = host.wait_first();
  EXPECT_EQ("sandbox_exited", event["type"]);
  EXPECT_EQ("a", event["sandbox_id"]);
  EXPECT_EQ("limit", event["cause"]);
  EXPECT_EQ("memory", event["detail"]);
  auto recovered = driver->recover("a", "");
  EXPECT_EQ("gone", (*recovered)["status"]);
  EXPECT_EQ("limit", (*recovered)["cause"]);
}

TEST_F(Fake, GoneOnRecoverIsScripted) {
  ASSERT_TRUE(create("a", {{"gone_on_recover", true}}).ok());
  start();
  EXPECT_EQ("gone", (*driver->recover("a", ""))["status"]);
}

TEST_F(Fake, VerbsCanBeTakenAway) {
  start({{"verbs", {"pause", "resume"}}});
  EXPECT_EQ(json({"pause", "resume"}), (*driver->describe())["verbs"]);
  EXPECT_EQ(nullptr, driver->table.fork);
}

TEST_F(Fake, AHalfPairIsRefusedByTheHost) {
  auto library = loader::Library::from_descriptor(harena_plugin_entry_fake());
  auto made = (*library)->create(&host.host, {{"state_dir", dir + "/other"}, {"verbs", {"pause"}}});
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, HasSubstr("has 'pause' but lacks 'resume'"));
}

TEST_F(Fake, UnknownConfigurationKeysNameTheNearest) {
  auto library = loader::Library::from_descriptor(harena_plugin_entry_fake());
  auto made = (*library)->create(&host.host, {{"capactiy", 1}});
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, HasSubstr("config.capactiy isn't known, did you mean 'capacity'?"));
}

TEST_F(Fake, SnapshotRestoreRollbackFork) {
  ASSERT_TRUE(create("a", {{"note", "one"}}).ok());
  auto snapshot = driver->snapshot("a", {{"snapshot_id", "s"}, {"dir", dir}});
  ASSERT_TRUE(snapshot.ok()) << snapshot.error().describe();
  json again = request("b");
  again["snapshot_state"] = (*snapshot)["state"];
  auto restored = driver->restore(again);
  ASSERT_TRUE(restored.ok()) << restored.error().describe();
  EXPECT_EQ("one", (*restored)["details"]["note"]);
  EXPECT_TRUE(driver->rollback("a", (*snapshot)["state"].get<std::string>()).ok());
  EXPECT_EQ(ErrorCode::invalid_argument, driver->rollback("a", "nonsense").error().code);
  auto children = driver->fork("a", {request("c"), request("b"), request("d")});
  ASSERT_TRUE(children.ok());
  EXPECT_EQ("fake/1", (*children)[0]["state"]);
  EXPECT_EQ("already_exists", (*children)[1]["error"]["code"]);
  EXPECT_EQ("fake/1", (*children)[2]["state"]);
}

TEST_F(Fake, CapacityRefuses) {
  start({{"capacity", 1}});
  ASSERT_TRUE(create("a").ok());
  EXPECT_EQ(ErrorCode::resource_exhausted, create("b").error().code);
}

TEST_F(Fake, IdsThatAreNoFileNamesAreRefused) {
  for (const char* id : {"", "../x", "a/b", "a.b"}) EXPECT_EQ(ErrorCode::invalid_argument, create(id).error().code) << id;
}

TEST_F(Fake, HostSessionWithoutAShimIsRefused) {
  auto refused = create("a", {{"session", "host"}});
  EXPECT_EQ(ErrorCode::failed_precondition, refused.error().code);
  EXPECT_THAT(refused.error().message, HasSubstr("'shim'"));
  start({{"shim", "/nonexistent/harena-shim"}});
  EXPECT_EQ(ErrorCode::failed_precondition, create("a", {{"session", "host"}}).error().code);
  start({{"shim", "/bin/true"}});
  EXPECT_EQ(ErrorCode::unavailable, create("a", {{"session", "host"}}).error().code);
  EXPECT_EQ("gone", (*driver->recover("a", ""))["status"]);
}

}  // namespace
}  // namespace harena::fake
