// Each deliberately bad plugin is caught by the case that is named for what it breaks.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path bad_dir() { return fs::path(std::getenv("HARENA_BUILD_DIR")) / "tests/bad-plugins"; }

class TempDir {
 public:
  TempDir() {
    std::string pattern = testing::TempDir() + "harena-bad-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~TempDir() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Runs harena-plugin-check; its exit code and its report.
std::pair<int, json> check(const fs::path& plugin, const std::string& config, const std::string& options) {
  TempDir tmp;
  std::string report = tmp.path() / "report.json";
  std::string command = std::string(std::getenv("HARENA_PLUGIN_CHECK")) + " " + plugin.string() + " --config '" + config + "' --json " + report +
                        " " + options + " > " + (tmp.path() / "out").string() + " 2>&1";
  int status = std::system(command.c_str());
  std::ifstream file(report);
  return {WEXITSTATUS(status), json::parse(file, nullptr, false)};
}

struct Bad {
  const char* plugin;
  const char* caught_by;
  const char* outcome;
};

void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.plugin; }

class BadPlugin : public testing::TestWithParam<Bad> {};

std::string config_of(std::string_view plugin) {
  if (plugin.starts_with("store-")) return "{}";
  return plugin.starts_with("image-") ? R"({"root":"{tmp}/images"})" : R"({"root":"{tmp}/folders"})";
}

TEST_P(BadPlugin, IsCaughtByName) {
  fs::path plugin = bad_dir() / GetParam().plugin;
  if (!fs::exists(plugin)) GTEST_SKIP() << "this build has no " << GetParam().plugin;
  auto [code, report] = check(plugin, config_of(GetParam().plugin), std::string("--case ") + GetParam().caught_by);
  EXPECT_EQ(1, code);
  ASSERT_EQ(1u, report["cases"].size()) << report;
  EXPECT_EQ(GetParam().outcome, report["cases"][0]["outcome"]) << report["cases"][0]["message"];
  RecordProperty("message", report["cases"][0]["message"].get<std::string>());
}

INSTANTIATE_TEST_SUITE_P(
    All, BadPlugin,
    testing::Values(Bad{"exports-too-much", "exports", "failed"}, Bad{"no-relro", "relro", "failed"}, Bad{"lazy-binding", "relro", "failed"},
                    Bad{"executable-stack", "no_executable_stack", "failed"}, Bad{"run-path", "no_run_path", "failed"},
                    Bad{"wrong-abi-version", "loads", "failed"}, Bad{"open-config-schema", "loads", "failed"},
                    Bad{"opens-in-constructor", "load_opens_nothing", "failed"},
                    Bad{"thread-in-constructor", "load_starts_no_thread", "failed"},
                    Bad{"null-required-function", "required_functions", "failed"}, Bad{"half-pair", "whole_groups", "failed"},
                    Bad{"any-contract", "unknown_contract_is_null", "failed"},
                    Bad{"crashes-on-null-destroy", "destroy_takes_null", "crashed"}, Bad{"grows", "create_destroy_growth", "failed"},
                    Bad{"keeps-a-descriptor", "create_destroy_growth", "failed"}, Bad{"reads-beyond-host", "older_host", "crashed"},
                    Bad{"crashes-on-garbage", "config_garbage", "crashed"}, Bad{"writes-out-on-failure", "config_garbage", "failed"},
                    Bad{"throws", "no_exceptions", "failed"}, Bad{"no-error-in-sink", "one_outcome_a_call", "failed"},
                    Bad{"two-results", "one_outcome_a_call", "failed"}, Bad{"lies-about-verbs", "describe_document", "failed"},
                    Bad{"hangs", "cancelled_midway", "failed"}, Bad{"hangs", "deadline_midway", "failed"},
                    Bad{"half-made-after-deadline", "deadline_past", "failed"},
                    Bad{"stop-not-idempotent", "stop_is_idempotent", "failed"},
                    Bad{"creates-twice", "create_refuses_a_used_id", "failed"}, Bad{"unknown-ids-are-fine", "unknown_ids", "failed"},
                    Bad{"forgets-on-restart", "recover_after_restart", "failed"},
                    Bad{"forgets-on-restart", "kill_between_steps", "failed"}, Bad{"sweeps-known", "sweep_spares_known", "failed"},
                    Bad{"leaves-a-process", "nothing_left_behind", "failed"},
                    Bad{"snapshot-without-state", "snapshot_and_restore", "failed"},
                    Bad{"snapshot-keeps-everything", "snapshot_and_restore", "failed"},
                    Bad{"snapshot-is-lost", "snapshot_and_restore", "failed"},
                    Bad{"snapshot-ends-its-source", "snapshot_and_restore", "failed"},
                    Bad{"restores-anything", "restore_of_foreign_state", "failed"},
                    Bad{"deletion-ends-the-source", "delete_snapshot", "failed"},
                    Bad{"store-forgets-on-restart", "values_outlive_the_host", "failed"},
                    Bad{"store-ignores-checks", "compare_and_set", "failed"}, Bad{"store-ranges-backwards", "ranges", "failed"},
                    Bad{"image-ignores-digests", "put_checks_the_digest", "failed"},
                    Bad{"image-closes-descriptors", "put_borrows_its_descriptor", "failed"}),
    [](const auto& info) {
      std::string name = std::string(info.param.plugin) + "_" + info.param.caught_by;
      std::ranges::replace(name, '-', '_');
      return name;
    });

// The base of the bad ones is good: what is caught is what was changed.
TEST(GoodPlugin, PassesEveryCase) {
  auto [code, report] = check(bad_dir() / "good", config_of("good"), "");
  EXPECT_EQ(0, code) << report.dump(1);
  EXPECT_GT(report["totals"]["passed"], 40);
}

// Files that were changed after they were built.
class ChangedFile : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"plugin.json", "libgood.so"}) fs::copy_file(bad_dir() / "good" / name, tmp.path() / name);
    std::ifstream file(tmp.path() / "plugin.json");
    manifest = json::parse(file);
  }
  void write_manifest() { std::ofstream(tmp.path() / "plugin.json") << manifest.dump(); }
  std::string outcome_of(const std::string& name) {
    auto [code, report] = check(tmp.path(), config_of("good"), "--case " + name);
    return report["cases"][0]["outcome"];
  }
  TempDir tmp;
  json manifest;
};

TEST_F(ChangedFile, HashIsCaught) {
  std::ofstream(tmp.path() / "libgood.so", std::ios::app) << "x";
  EXPECT_EQ("failed", outcome_of("manifest_hash"));
}

TEST_F(ChangedFile, ManifestAbiIsCaught) {
  manifest["abi"] = "9.9";
  write_manifest();
  EXPECT_EQ("failed", outcome_of("manifest_abi_version"));
}

TEST_F(ChangedFile, ManifestThatLiesIsCaught) {
  manifest["version"] = "7.7.7";
  write_manifest();
  EXPECT_EQ("failed", outcome_of("manifest_agrees"));
}

TEST_F(ChangedFile, WritableByOthersIsCaught) {
  ::chmod((tmp.path() / "libgood.so").c_str(), 0777);
  EXPECT_EQ("failed", outcome_of("file_owner"));
}

TEST(Arguments, WrongOnesAreToldAndEndWithTwo) {
  EXPECT_EQ(2, check(bad_dir() / "good", "{}", "--case lods").first);
  EXPECT_EQ(2, check(bad_dir() / "good", "nonsense", "").first);
  EXPECT_EQ(2, check(bad_dir() / "absent", "{}", "").first);
  EXPECT_EQ(2, check(bad_dir() / "good", "{}", "--level 7").first);
}

}  // namespace
