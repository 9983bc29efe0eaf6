#include "core/cli/incident_play.hpp"

#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include "sdk/client/files.hpp"

namespace harena::cli {

using client::text_or;

namespace {

constexpr const char* kInside = "/tmp/harena-attack";
constexpr std::int64_t kFloodBytes = 8 << 20;
constexpr std::int64_t kFloodLimit = 1 << 20;
constexpr std::int64_t kPatienceMs = 300'000;

std::string cause_of(const nlohmann::json& result) { return text_or(result.value("exit", nlohmann::json::object()), "cause"); }

}  // namespace

std::string incident_title(int row) {
  static const std::map<int, std::string> kTitles = {
      {1, "no file, descriptor, variable or mount of the platform is visible"},
      {2, "no manager to forge requests to"},
      {3, "command logs are outside of the sandbox"},
      {4, "trusted tools can't be replaced, covered or traced"},
      {5, "file systems' and the kernel's dangerous calls are refused"},
      {9, "/proc and /sys show and take nothing of the machine"},
      {11, "output is kept up to a limit and no further"},
      {14, "bombs hit their own limit, and its name is told"},
      {15, "the file API follows no trap out of the sandbox and opens no device"},
      {16, "what serves the sandbox can't be killed, stopped or starved"}};
  const auto found = kTitles.find(row);
  return found == kTitles.end() ? std::string() : found->second;
}

void IncidentPlay::judge(int row, std::string rule, bool good, std::string detail) {
  findings_.push_back({row, std::move(rule), good ? "held" : "broken", std::move(detail)});
}

Status IncidentPlay::upload() {
  client::Files files(client_, sandbox_);
  return files.write(kInside, 0755, [this]() -> Result<client::Files::Source> {
    auto file = std::make_shared<std::ifstream>(program_, std::ios::binary);
    if (!*file) return make_error(ErrorCode::not_found, "can't read the attack program '" + program_ + "'; --program names it");
    return client::Files::Source([file](char* buffer, std::size_t size) -> Result<std::size_t> {
      file->read(buffer, static_cast<std::streamsize>(size));
      return static_cast<std::size_t>(file->gcount());
    });
  });
}

Result<nlohmann::json> IncidentPlay::command(json body) {
  body["op"] = client_.unique_key();
  body["wait"] = true;
  body["timeout_ms"] = kPatienceMs;
  return client_.post("/sandboxes/" + sandbox_ + "/commands", body, true);
}

Result<nlohmann::json> IncidentPlay::attack(std::vector<std::string> words, json body) {
  words.insert(words.begin(), kInside);
  body["argv"] = words;
  body["user"] = "0";
  return command(std::move(body));
}

Status IncidentPlay::rows_inside() {
  HARENA_TRY(const auto result, attack({"row", "1", "2", "3", "4", "5", "9", "14", "16"}));
  std::istringstream lines(text_or(result, "stdout"));
  for (std::string line; std::getline(lines, line);) {
    const auto one = json::parse(line, nullptr, false);
    if (!one.is_object()) continue;
    findings_.push_back({one.value("row", 0), text_or(one, "rule"), text_or(one, "verdict"), text_or(one, "detail")});
  }
  // 0 and 1 are its own words for "all held" and "something broke"; anything else is an attack that didn't end as it should.
  const auto code = result.value("exit", json::object()).value("code", json());
  judge(1, "attacks_ran", code == 0 || code == 1, "the attack program ended with " + code.dump());
  return {};
}

Status IncidentPlay::output_flood() {
  HARENA_TRY(const auto result, attack({"flood", std::to_string(kFloodBytes)}, {{"output_limit_bytes", kFloodLimit}}));
  const auto kept = static_cast<std::int64_t>(text_or(result, "stdout").size());
  const bool ended_well = cause_of(result) == "exit";
  judge(11, "flood", kept == kFloodLimit && ended_well, std::to_string(kept) + " of " + std::to_string(kFloodBytes) + " bytes kept, the command ran on to its end");
  return {};
}

Status IncidentPlay::bombs() {
  for (const auto& [kind, cause] : {std::pair("fork", "pids"), std::pair("threads", "pids"), std::pair("memory", "oom")}) {
    HARENA_TRY(const auto result, attack({"bomb", kind}));
    judge(14, std::string(kind) + "_bomb", cause_of(result) == cause, "ended with cause '" + cause_of(result) + "'");
    // What is left of it would take the room of the next; when nothing is, there is nothing to signal.
    (void)client_.post("/sandboxes/" + sandbox_ + "/commands/" + text_or(result, "id") + "/signal", {{"signal", "KILL"}, {"target", "tree"}});
  }
  return {};
}

/// They run into a number of their own, and the sandbox goes on.
Status IncidentPlay::fillers(bool has_disk) {
  for (const auto& [kind, wanted] : {std::pair("files", "EMFILE"), std::pair("tmpfs", "ENOSPC"), std::pair("disk", "ENOSPC EDQUOT"), std::pair("inodes", "ENOSPC EDQUOT")}) {
    const bool on_disk = std::string_view(kind) == "disk" || std::string_view(kind) == "inodes";
    if (on_disk && !has_disk) {
      findings_.push_back({14, std::string(kind) + "_bomb", "absent", "this host can't limit disks"});
      continue;
    }
    HARENA_TRY(const auto result, attack({"bomb", kind}));
    const std::string said = text_or(result, "stdout");
    const std::string error = said.substr(said.find(' ') + 1, said.find('\n') - said.find(' ') - 1);
    const bool good = cause_of(result) == (on_disk ? "disk" : "exit") && !error.empty() && std::string_view(wanted).find(error) != std::string_view::npos;
    judge(14, std::string(kind) + "_bomb", good, "ended after " + said.substr(0, said.find('\n')) + ", with cause '" + cause_of(result) + "'");
    HARENA_TRY(const auto cleaned, attack({"clean"}));
  }
  return {};
}

Status IncidentPlay::file_traps() {
  HARENA_TRY(const auto made, attack({"traps"}));
  client::Files files(client_, sandbox_);
  for (const char* name : {"fifo", "device", "terminal", "init_root", "loop"}) {
    std::size_t bytes = 0;
    auto status = files.read(std::string("/tmp/traps/") + name, [&bytes](std::string_view part) {
      bytes += part.size();
      return Status();
    });
    judge(15, name, !status.ok(), status.ok() ? "read " + std::to_string(bytes) + " bytes" : std::string(to_string(status.error().code)));
  }
  for (const char* name : {"fifo", "device", "terminal", "loop"}) {
    const auto status = files.write(std::string("/tmp/traps/") + name, 0644, []() -> Result<client::Files::Source> {
      return client::Files::Source([done = false](char* buffer, std::size_t) mutable -> Result<std::size_t> {
        if (std::exchange(done, true)) return std::size_t{0};
        *buffer = 'x';
        return std::size_t{1};
      });
    });
    judge(15, std::string("write_") + name, !status.ok(), status.ok() ? "it was written to" : std::string(to_string(status.error().code)));
  }
  return {};
}

Status IncidentPlay::replaced_tools() {
  HARENA_TRY(const auto replaced, attack({"replace-tools"}));
  auto result = command({{"shell", "test 2 -gt 1 && echo right | grep -c right"}, {"trusted_tools", true}});
  if (!result.ok() && result.error().code == ErrorCode::failed_precondition) {
    findings_.push_back({4, "evaluation", "absent", result.error().message});
    return {};
  }
  HARENA_TRY(const auto answer, std::move(result));
  judge(4, "evaluation", text_or(answer, "stdout") == "1\n", "every shell, tool and loader replaced; the evaluation answers right");
  return {};
}

Status IncidentPlay::attacked_servers() {
  HARENA_TRY(const auto attacked, attack({"attack-servers"}));
  auto answered = command({{"argv", {"echo", "answered"}}, {"trusted_tools", true}});
  const bool exec = answered.ok() ? text_or(*answered, "stdout") == "answered\n" : answered.error().code == ErrorCode::failed_precondition;
  judge(16, "exec_answers", exec, exec ? "a command runs after all was killed, filled and moved away" : answered.ok() ? answered->dump() : answered.error().message);
  client::Files files(client_, sandbox_);
  auto listed = files.list("/", false, [](const client::FileStat&) { return Status(); });
  judge(16, "files_answer", listed.ok(), listed.ok() ? "files are listed" : listed.error().message);
  return {};
}

Result<std::vector<IncidentFinding>> IncidentPlay::run(bool has_disk) {
  HARENA_TRY_STATUS(upload());
  HARENA_TRY_STATUS(rows_inside());
  HARENA_TRY_STATUS(output_flood());
  HARENA_TRY_STATUS(bombs());
  HARENA_TRY_STATUS(fillers(has_disk));
  HARENA_TRY_STATUS(file_traps());
  HARENA_TRY_STATUS(replaced_tools());
  HARENA_TRY_STATUS(attacked_servers());
  return std::move(findings_);
}

}  // namespace harena::cli
