// harenad: all roles in one process.
#include <csignal>
#include <cstdio>
#include <filesystem>

#include <CLI/CLI.hpp>

#include "core/config/load.hpp"
#include "core/daemon/daemon.hpp"
#include "core/edge/offline_doctor.hpp"
#include "sdk/base/standard_streams.hpp"
#include "sdk/support/inherited_descriptors.hpp"
#include "sdk/support/scheduling.hpp"

namespace {

int fail(const harena::Error& error) {
  std::fprintf(stderr, "harenad: %s\n", error.describe().c_str());
  return 1;
}

/// As GET /v1/doctor answers; status 1 when there is an error among them.
int look_at_machine(const harena::Config& config) {
  const auto findings = harena::offline_findings(config);
  std::printf("%s\n", nlohmann::json{{"findings", findings}}.dump(2).c_str());
  for (const auto& one : findings) {
    if (one["level"] == "error") return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  harena::fill_standard_streams();
  CLI::App app{"Harena's daemon: API, edge, watcher and IAM in one process"};
  std::string config_file;
  bool check = false, doctor = false;
  app.add_option("--config", config_file, "Configuration file (default: " + std::string(harena::kDefaultConfigFile) + " if it exists)");
  app.add_flag("--check-config", check, "Print the configuration as it would be used, and end");
  app.add_flag("--doctor", doctor, "Say as JSON what this machine has, lacks and what that costs, without starting anything, and end");
  app.set_version_flag("--version", std::string("harenad ") + HARENA_VERSION);
  CLI11_PARSE(app, argc, argv);

  auto config = harena::load_config(config_file.empty() ? std::nullopt : std::optional<std::filesystem::path>(config_file),
                                    harena::process_environment());
  if (!config.ok()) return fail(config.error());
  harena::close_inherited_descriptors();  // behind the configuration, which may be one of them (--config /dev/fd/N); before there are threads
  if (check) {
    std::printf("%s\n", config->to_json().dump(2).c_str());
    return 0;
  }
  if (doctor) return look_at_machine(*config);
  (void)harena::prefer_latency();  // before there are threads; commands and helpers give it back or don't mind
  harena::Daemon daemon(*std::move(config));
  if (auto status = daemon.run_until_signal(); !status.ok()) return fail(status.error());
  return 0;
}
