// The checks before dlopen and after it, on copies of a real plugin (plugins/fake, found in the build folder).

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sdk/digest/sha256.hpp"
#include "sdk/loader/library.hpp"

namespace harena::loader {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

class Loader : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "harena-loader-XXXXXX";
    folder = ::mkdtemp(pattern.data());
    fs::path built = fs::path(std::getenv("HARENA_BUILD_DIR")) / "plugins/fake";
    for (const char* name : {"plugin.json", "libharena_plugin_fake.so"}) fs::copy_file(built / name, folder / name);
    std::ifstream file(folder / "plugin.json");
    manifest = json::parse(file);
  }
  void TearDown() override { fs::remove_all(folder); }
  void write_manifest() { std::ofstream(folder / "plugin.json") << manifest.dump(); }
  Error refusal() {
    auto loaded = Library::load(folder, OwnerPolicy::root_or_self);
    return loaded.ok() ? make_error(ErrorCode::ok, "(loaded)") : loaded.error();
  }

  fs::path folder;
  json manifest;
};

TEST_F(Loader, LoadsAGoodPlugin) {
  auto library = Library::load(folder, OwnerPolicy::root_or_self);
  ASSERT_TRUE(library.ok()) << library.error().describe();
  EXPECT_EQ("dev.harena.fake", (*library)->id());
  auto instance = (*library)->create(nullptr, {{"state_dir", (folder / "state").string()}});
  ASSERT_TRUE(instance.ok()) << instance.error().describe();
  EXPECT_TRUE((*instance)->backend().ok());
  auto none = (*instance)->state_store();
  ASSERT_FALSE(none.ok());
  EXPECT_EQ("plugin 'dev.harena.fake' implements harena.backend/1; harena.state-store/1 is needed here", none.error().message);
}

TEST_F(Loader, RefusesFilesThatOthersMayWrite) {
  ::chmod((folder / "libharena_plugin_fake.so").c_str(), 0775);
  EXPECT_EQ(ErrorCode::permission_denied, refusal().code);
  EXPECT_THAT(refusal().message, HasSubstr("has mode 0775"));
  ::chmod((folder / "libharena_plugin_fake.so").c_str(), 0755);
  ::chmod(folder.c_str(), 0777);
  EXPECT_THAT(refusal().message, HasSubstr("has mode 0777"));
}

TEST_F(Loader, RefusesFilesOfOtherUsers) {
  if (::geteuid() != 0) GTEST_SKIP() << "giving a file to another user needs root";
  ASSERT_EQ(0, ::chown((folder / "plugin.json").c_str(), 12345, 0));
  EXPECT_THAT(refusal().message, HasSubstr("belongs to user 12345; root (0) is right"));
}

TEST_F(Loader, RefusesAChangedLibrary) {
  std::ofstream(folder / "libharena_plugin_fake.so", std::ios::app) << "x";
  EXPECT_EQ(ErrorCode::data_loss, refusal().code);
  EXPECT_THAT(refusal().message, HasSubstr("its manifest says " + manifest["sha256"].get<std::string>()));
}

TEST_F(Loader, RefusesAnotherAbiAndNamesBothVersions) {
  manifest["abi"] = "0.99";
  write_manifest();
  EXPECT_EQ(ErrorCode::failed_precondition, refusal().code);
  EXPECT_THAT(refusal().message, HasSubstr("'fake' is built for plugin ABI 0.99, this host has " + host_abi()));
}

TEST_F(Loader, RefusesBadManifests) {
  fs::remove(folder / "plugin.json");
  EXPECT_EQ(ErrorCode::not_found, refusal().code);
  std::ofstream(folder / "plugin.json") << "{";
  EXPECT_THAT(refusal().message, HasSubstr("isn't JSON"));
  manifest["contract"] = "x";
  write_manifest();
  EXPECT_THAT(refusal().message, HasSubstr("plugin.json.contract isn't known, did you mean 'contracts'?"));
  manifest.erase("contract");
  manifest["library"] = "../evil.so";
  write_manifest();
  EXPECT_THAT(refusal().message, HasSubstr("plugin.json.library is '../evil.so'"));
}

TEST_F(Loader, RefusesAManifestThatSaysAnotherThing) {
  manifest["version"] = "9.9.9";
  write_manifest();
  EXPECT_EQ("plugin.json says version 9.9.9, the plugin itself 0.1.0: they must be equal", refusal().message);
}

TEST_F(Loader, RefusesWhatIsNoPlugin) {
  std::ofstream(folder / "libharena_plugin_fake.so") << "not an ELF file";
  manifest["sha256"] = *sha256_file(folder / "libharena_plugin_fake.so");
  write_manifest();
  EXPECT_THAT(refusal().message, HasSubstr("isn't a shared library"));
}

const harena_plugin_descriptor& good_descriptor() {
  static const harena_str contracts[] = {to_abi("harena.backend/1")};
  static const harena_plugin_descriptor good = {
      sizeof(harena_plugin_descriptor), HARENA_ABI_MAJOR, HARENA_ABI_MINOR, to_abi("a.b"), to_abi("1.0.0"), to_abi("MIT"), contracts, 1,
      to_abi(R"({"type":"object","additionalProperties":false})"),
      [](const harena_call*, const harena_host*, harena_str, void**) -> harena_status { return HARENA_OK; },
      [](void*) {}, [](void*, harena_str) -> const void* { return nullptr; }};
  return good;
}

std::string descriptor_refusal(const harena_plugin_descriptor* d) {
  auto library = Library::from_descriptor(d);
  return library.ok() ? "(loaded)" : library.error().describe();
}

TEST(Descriptor, IsCheckedFieldByField) {
  auto d = good_descriptor();
  EXPECT_EQ("(loaded)", descriptor_refusal(&d));
  EXPECT_THAT(descriptor_refusal(nullptr), HasSubstr("returned null"));
  d.abi_minor = 77;
  EXPECT_THAT(descriptor_refusal(&d), HasSubstr("'a.b' is built for plugin ABI 0.77"));
  d = good_descriptor(), d.struct_size = 16;
  EXPECT_THAT(descriptor_refusal(&d), HasSubstr("struct_size 16"));
  d = good_descriptor(), d.get_contract = nullptr;
  EXPECT_THAT(descriptor_refusal(&d), HasSubstr("lacks the function 'get_contract'"));
  d = good_descriptor(), d.config_schema = to_abi("{\"type\":\"object\"}");
  EXPECT_THAT(descriptor_refusal(&d), HasSubstr("additionalProperties"));
  d = good_descriptor(), d.config_schema = to_abi("{\"if\":1}");
  EXPECT_THAT(descriptor_refusal(&d), HasSubstr("'if' isn't supported"));
}

TEST(Descriptor, AContractWithoutFunctionsIsRefused) {
  auto library = Library::from_descriptor(&good_descriptor());
  auto instance = (*library)->create(nullptr, json::object());
  ASSERT_FALSE(instance.ok());
  EXPECT_THAT(instance.error().message, HasSubstr("harena.backend/1 is null"));
}

harena_status nothing(void*, const harena_call*) { return HARENA_OK; }

TEST(Tables, FunctionsBeyondTheSizeAreNull) {
  harena_state_store table{};
  table.struct_size = offsetof(harena_state_store, watch);
  table.get = [](void*, const harena_call*, harena_str) -> harena_status { return 0; };
  table.range = [](void*, const harena_call*, harena_str, harena_str, int64_t) -> harena_status { return 0; };
  table.txn = [](void*, const harena_call*, const harena_state_op* const*, uint64_t) -> harena_status { return 0; };
  table.watch = [](void*, const harena_call*, harena_str, int64_t) -> harena_status { return 0; };
  EXPECT_THAT(read_state_store(&table).error().message, HasSubstr("lacks the required function 'watch'"));
  table.struct_size = sizeof(table) + 64;  // a newer plugin's
  EXPECT_TRUE(read_state_store(&table).ok());
}

TEST(Tables, NamesWhatABackendLacks) {
  harena_backend table{};
  table.struct_size = sizeof(table);
  table.describe = table.probe = &nothing;
  EXPECT_THAT(read_backend(&table).error().message, HasSubstr("lacks the required function 'create'"));
}

TEST(InvocationTest, BrokenPromisesAreErrors) {
  auto outcome_of = [](harena_status status, auto play) {
    Invocation call;
    play(*call.record()->sink);
    auto outcome = call.finish(status);
    return outcome.ok() ? "ok:" + *outcome : outcome.error().message;
  };
  auto result = [](const harena_sink& s) { s.result(s.context, to_abi("{}")); };
  auto error = [](const harena_sink& s) {
    harena_error e{sizeof(harena_error), HARENA_NOT_FOUND, to_abi("no x"), 0, 99, {}};
    s.error(s.context, &e);
  };
  auto silent = [](const harena_sink&) {};
  EXPECT_EQ("ok:{}", outcome_of(HARENA_OK, result));
  EXPECT_EQ("no x", outcome_of(HARENA_NOT_FOUND, error));
  EXPECT_THAT(outcome_of(HARENA_OK, error), HasSubstr("made an error and returned ok"));
  EXPECT_THAT(outcome_of(HARENA_OK, [&](auto& s) { result(s), result(s); }), HasSubstr("made 2 results"));
  EXPECT_THAT(outcome_of(HARENA_INTERNAL, silent), HasSubstr("returned internal without an error"));
  EXPECT_THAT(outcome_of(HARENA_INTERNAL, error), HasSubstr("returned internal but its error says not_found"));
  EXPECT_THAT(outcome_of(HARENA_NOT_FOUND, [&](auto& s) { error(s), error(s); }), HasSubstr("made 2 errors"));
  EXPECT_THAT(outcome_of(99, error), HasSubstr("returned the status 99"));
}

}  // namespace
}  // namespace harena::loader
