// harena-plugin-check: the test kit for plugin authors (docs/plugin-author.md).
// Ends with 0 when no case failed, crashed or timed out; 1 when one did; 2 when it was called wrongly.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>

#include "sdk/conformance/report.hpp"
#include "sdk/base/text.hpp"
#include "sdk/loader/manifest.hpp"

namespace {

using namespace harena;
using namespace harena::conformance;

struct Arguments {
  std::string path, config = "{}", request, json_file, junit_file, attack_program;
  int level = 2, patience = 1;
  std::vector<std::string> names;
  bool list = false;
};

// A folder, its manifest, or the library.
Result<std::filesystem::path> library_of(const std::filesystem::path& given) {
  std::error_code failed;
  auto path = std::filesystem::absolute(given, failed);
  if (!std::filesystem::exists(path, failed)) return make_error(ErrorCode::not_found, given.string() + " doesn't exist; a plugin's .so or folder is right");
  if (std::filesystem::is_directory(path)) path /= loader::kManifestFile;
  if (path.filename() != loader::kManifestFile) return path;
  HARENA_TRY(auto manifest, loader::read_manifest(path.parent_path()));
  return path.parent_path() / manifest.library;
}

/// PREFIX/bin has PREFIX/libexec/harena, BUILD/bin has it itself.
std::filesystem::path find_attack_program() {
  std::error_code failed;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
  for (const auto& path : {folder / "harena-attack", folder / "../libexec/harena/harena-attack"}) {
    if (std::filesystem::exists(path, failed)) return path;
  }
  return {};
}

Result<json> parse_object(const std::string& text, const std::string& what) {
  json document = json::parse(text, nullptr, false);
  if (document.is_object()) return document;
  return make_error(ErrorCode::invalid_argument, what + " isn't a JSON object: " + text.substr(0, 100));
}

Result<Subject> subject_of(const Arguments& arguments) {
  Subject subject;
  HARENA_TRY(subject.library, library_of(arguments.path));
  HARENA_TRY(subject.config, parse_object(arguments.config, "--config"));
  subject.attack_program = arguments.attack_program.empty() ? find_attack_program() : std::filesystem::path(arguments.attack_program);
  subject.patience = arguments.patience;
  if (arguments.request.empty()) return subject;
  std::ifstream file(arguments.request);
  if (!file) return make_error(ErrorCode::not_found, "--request: can't read " + arguments.request);
  HARENA_TRY(subject.request, parse_object(std::string((std::istreambuf_iterator<char>(file)), {}), "--request"));
  return subject;
}

Status check_names(const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const auto& one : all_cases()) known.push_back(one.name);
  for (const auto& name : names) {
    if (std::ranges::find(known, name) == known.end()) return make_error(ErrorCode::not_found, "no case '" + name + "'" + suggestion(name, known));
  }
  return ok_status();
}

int list_cases(int level) {
  for (const auto& one : all_cases()) {
    if (one.level <= level) std::cout << "level " << one.level << "  " << (one.contract.empty() ? "any plugin" : one.contract) << "  " << one.name << ": " << one.promise << "\n";
  }
  return 0;
}

Status write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  file.close();
  return file ? ok_status() : Status(errno_error(errno, "writing " + path));
}

Result<int> check(const Arguments& arguments) {
  if (arguments.list) return list_cases(arguments.level);
  HARENA_TRY_STATUS(check_names(arguments.names));
  HARENA_TRY(Subject subject, subject_of(arguments));
  std::vector<CaseReport> reports;
  for (const auto& one : applicable_cases(subject, arguments.level)) {
    if (!arguments.names.empty() && std::ranges::find(arguments.names, one.name) == arguments.names.end()) continue;
    reports.push_back(run_case(one, subject));
    std::cout << as_line(reports.back()) << std::flush;
  }
  std::cout << summary_line(reports);
  if (!arguments.json_file.empty()) HARENA_TRY_STATUS(write_text(arguments.json_file, as_json(subject.library.string(), reports).dump(2) + "\n"));
  if (!arguments.junit_file.empty()) HARENA_TRY_STATUS(write_text(arguments.junit_file, as_junit(subject.library.filename().string(), reports)));
  return std::ranges::any_of(reports, [](const auto& r) { return is_bad(r.outcome); }) ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Checks a Harena plugin: each case in a process of its own, named, with what it promises."};
  Arguments a;
  app.add_option("path", a.path, "the plugin's .so, or the folder with its plugin.json");
  app.add_option("--level", a.level, "0 the file unloaded, 1 loading it, 2 its contracts, 3 attacks from inside its sandboxes")->check(CLI::Range(0, 3))->capture_default_str();
  app.add_option("--config", a.config, "the plugin's configuration, JSON; {tmp} in it is a folder of each case's own")->capture_default_str();
  app.add_option("--request", a.request, "file with a JSON object: params, layers, image_config, env, labels of create requests");
  app.add_option("--attack-program", a.attack_program, "harena-attack, for level 3; found beside this program or in libexec/harena");
  app.add_option("--patience", a.patience, "each case may take so many times longer (of 60 s, most): for slow machines")->check(CLI::Range(1, 100))->capture_default_str();
  app.add_option("--case", a.names, "only these cases");
  app.add_option("--json", a.json_file, "write the report as JSON to this file");
  app.add_option("--junit", a.junit_file, "write the report as JUnit XML to this file");
  app.add_flag("--list", a.list, "list the cases and what they promise");
  app.set_version_flag("--version", HARENA_VERSION);
  try {
    app.parse(argc, argv);
    if (a.path.empty() && !a.list) throw CLI::RequiredError("path");
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    auto code = check(a);
    if (code.ok()) return *code;
    std::cerr << "harena-plugin-check: " << code.error().describe() << "\n";
  } catch (const Failed& failed) {  // of the kit itself: no temporary folder, no process
    std::cerr << "harena-plugin-check: " << failed.message << "\n";
  } catch (const std::exception& e) {
    std::cerr << "harena-plugin-check: " << e.what() << "\n";
  }
  return 2;
}
