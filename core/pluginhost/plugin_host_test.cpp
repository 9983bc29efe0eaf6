#include "core/pluginhost/plugin_host.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/pluginhost/testing/tiny_host.hpp"

namespace harena {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct PluginHostTest : TinyHostTest {
  PluginHostTest() {
    std::string pattern = testing::TempDir() + "harena-pluginhost-XXXXXX";
    folder = ::mkdtemp(pattern.data());
    options.trust_current_user = true;
  }
  ~PluginHostTest() override {
    host.reset();
    fs::remove_all(folder);
  }
  static fs::path built() { return fs::path(std::getenv("HARENA_BUILD_DIR")) / "plugins"; }
  void choose_fake(const std::string& name) {
    options.plugin_dirs = {built().string()};
    options.plugins = {{name, {{"state_dir", (folder / "fake").string()}}}};
  }
  fs::path folder;
};

TEST_F(PluginHostTest, AStaticPluginIsListed) {
  options.plugins[0].config = {{"size", 4}};
  load();
  ASSERT_EQ(host->plugins().size(), 1u);
  const auto listing = to_json(host->plugins()[0]);
  EXPECT_EQ(listing["id"], "test.harena.tiny");
  EXPECT_EQ(listing["version"], "1.2.3");
  EXPECT_EQ(listing["licence"], "Apache-2.0");
  EXPECT_EQ(listing["path"], "");
  EXPECT_EQ(listing["contracts"].size(), 3u);
  EXPECT_EQ(tiny.instances, 1);
  host.reset();
  EXPECT_EQ(tiny.instances, 0);
}

TEST_F(PluginHostTest, AStaticPluginIsFoundByItsIdToo) {
  options.plugins = {{"test.harena.tiny"}};
  load();
  EXPECT_EQ(host->backends().size(), 1u);
}

TEST_F(PluginHostTest, AConfigurationThatItsSchemaRefuses) {
  options.plugins[0].config = {{"sise", 4}};
  const auto error = refusal();
  EXPECT_EQ(error.code, ErrorCode::invalid_argument);
  EXPECT_THAT(error.message, HasSubstr("did you mean 'size'"));
  EXPECT_THAT(error.describe(), HasSubstr("test.harena.tiny"));
}

TEST_F(PluginHostTest, AnotherAbiNamesBothVersions) {
  options.static_plugins["tiny"] = tiny_plugin_other_abi();
  const auto error = refusal();
  EXPECT_EQ(error.code, ErrorCode::failed_precondition);
  EXPECT_THAT(error.message, HasSubstr("0.99"));
  EXPECT_THAT(error.message, HasSubstr(std::to_string(HARENA_ABI_MAJOR) + "." + std::to_string(HARENA_ABI_MINOR)));
}

TEST_F(PluginHostTest, AMissingFunctionIsNamedAndTheInstanceEnds) {
  options.static_plugins["tiny"] = tiny_plugin_without_stop();
  EXPECT_THAT(refusal().message, HasSubstr("'stop'"));
  EXPECT_EQ(tiny.instances, 0);
}

TEST_F(PluginHostTest, TheSameTwiceIsRefused) {
  options.plugins = {{"tiny"}, {"test.harena.tiny"}};
  EXPECT_THAT(refusal().message, HasSubstr("enabled twice"));
  EXPECT_EQ(tiny.instances, 0);
}

TEST_F(PluginHostTest, EventsAndLogsArePassedOnAndNonsenseIsDropped) {
  options.services.services["harena.test/1"] = &options;
  load();
  const auto event = [](std::string_view text) { tiny.host->event(tiny.host->context, {text.data(), text.size()}); };
  event(R"({"type":"sandbox_exited","sandbox_id":"x"})");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].backend, "tiny");
  EXPECT_EQ(events[0].document["sandbox_id"], "x");
  for (const char* nonsense : {"", "{", "[]", "{}", R"({"type":1})"}) event(nonsense);
  event(R"({"type":")" + std::string(100'000, 'x') + "\"}");
  EXPECT_EQ(events.size(), 1u);
  EXPECT_EQ(logged.size(), 6u);
  tiny.host->log(tiny.host->context, HARENA_LOG_INFO, {"hello \xff", 7});
  EXPECT_EQ(logged.back(), "test.harena.tiny: hello \xEF\xBF\xBD");
  EXPECT_EQ(tiny.host->get_service(tiny.host->context, {"harena.test/1", 13}), &options);
  EXPECT_EQ(tiny.host->get_service(tiny.host->context, {"harena.none/1", 13}), nullptr);
}

TEST_F(PluginHostTest, ExceptionsOfOursDontPassThroughAPlugin) {
  options.services.event = [](const BackendEvent&) { throw std::runtime_error("ours"); };
  load();
  tiny.host->event(tiny.host->context, {R"({"type":"x"})", 12});
}

TEST_F(PluginHostTest, AnUnknownBackendListsTheOthers) {
  load();
  const auto refused = host->backend("tini");
  EXPECT_EQ(refused.error().code, ErrorCode::not_found);
  EXPECT_THAT(refused.error().message, HasSubstr("did you mean 'tiny'"));
}

TEST_F(PluginHostTest, WithoutAStoreTheErrorSaysWhatToDo) {
  options.plugins.clear();
  load();
  EXPECT_THAT(host->state_store().error().message, HasSubstr("no state store is enabled"));
  EXPECT_THAT(host->image_store().error().message, HasSubstr("no image store is enabled"));
  EXPECT_THAT(host->backend("x").error().message, HasSubstr("no plugin with a backend"));
}

TEST_F(PluginHostTest, TheFakeIsLoadedFromItsFileByNameAndById) {
  for (const char* name : {"fake", "dev.harena.fake"}) {
    choose_fake(name);
    load();
    EXPECT_EQ(host->plugins()[0].path, (built() / "fake").string());
    const SandboxId id = SandboxId::parse("tst01000000000000001").value();
    Backend* backend = host->backend("fake").value();
    fs::create_directories(folder / "run");
    fs::create_directories(folder / "state");
    BackendCreateRequest request{id, (folder / "run").string(), (folder / "state").string(), {{"note", "hello"}}};
    const auto created = backend->create(call, request);
    ASSERT_TRUE(created.ok()) << created.error().describe();
    EXPECT_EQ(backend->recover(call, id, created->state)->status, BackendRecovered::Status::running);
    EXPECT_TRUE(backend->pause(call, id).ok());
    EXPECT_EQ(backend->recover(call, id, created->state)->status, BackendRecovered::Status::paused);
    EXPECT_TRUE(backend->stop(call, id, 0).ok());
    EXPECT_TRUE(backend->stop(call, id, 0).ok());
    EXPECT_EQ(backend->recover(call, id, created->state)->status, BackendRecovered::Status::gone);
    EXPECT_EQ(backend->usage(call, id).error().code, ErrorCode::not_found);
    host.reset();
  }
}

TEST_F(PluginHostTest, ScriptedFailuresAndRefusalsOfTheFakeArrive) {
  choose_fake("fake");
  load();
  const SandboxId id = SandboxId::parse("tst01000000000000002").value();
  const auto params = nlohmann::json::parse(R"({"script": [{"verb": "create",
    "error": {"code": "unavailable", "message": "scripted", "cause": "infrastructure", "retry": "other_node"}}]})");
  const auto refused = host->backend("fake").value()->create(call, {id, folder.string(), folder.string(), params});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_EQ(refused.error().cause, Cause::infrastructure);
  EXPECT_EQ(refused.error().retry, Retry::other_node);
  EXPECT_THAT(refused.error().describe(), HasSubstr("dev.harena.fake"));
}

TEST_F(PluginHostTest, APluginThatIsntThereListsWhatIs) {
  fs::create_directories(folder / "fake");
  for (const char* name : {"plugin.json", "libharena_plugin_fake.so"}) {
    fs::copy_file(built() / "fake" / name, folder / "fake" / name);
  }
  options.plugin_dirs = {folder.string(), "/nowhere"};
  options.plugins = {{"fakee"}};
  auto error = refusal();
  EXPECT_EQ(error.code, ErrorCode::not_found);
  EXPECT_THAT(error.message, HasSubstr("did you mean 'fake'?"));
  EXPECT_THAT(error.message, HasSubstr(folder.string() + ", /nowhere"));

  fs::permissions(folder / "fake", fs::perms::others_write, fs::perm_options::add);
  EXPECT_THAT(refusal().message, HasSubstr("passed over"));
  for (const char* name : {"../fake", "", ".hidden", "a/b"}) {
    options.plugins = {{name}};
    EXPECT_EQ(refusal().code, ErrorCode::invalid_argument) << name;
  }
}

TEST_F(PluginHostTest, WhenTheSecondFailsTheFirstIsDestroyed) {
  options.plugin_dirs = {folder.string()};
  options.plugins = {{"tiny"}, {"missing"}};
  EXPECT_EQ(refusal().code, ErrorCode::not_found);
  EXPECT_EQ(tiny.instances, 0);
}

}  // namespace
}  // namespace harena
