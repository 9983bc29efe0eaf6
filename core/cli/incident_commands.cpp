// incidents: the attacks that agents have really made, played in a sandbox of this installation.

#include <unistd.h>

#include <array>
#include <map>

#include "core/cli/incident_play.hpp"
#include "core/cli/print.hpp"
#include "core/cli/program.hpp"
#include "sdk/client/images.hpp"
#include "sdk/client/sandboxes.hpp"

namespace harena::cli {

using client::text_or;
using nlohmann::json;

namespace {

struct IncidentOptions {
  std::string image;
  std::string program;
  bool each = false;
};

/// PREFIX/bin/harena has PREFIX/libexec/harena; BUILD/bin/harena has BUILD/bin.
std::string find_attack_program() {
  std::array<char, 4096> path;
  const auto length = ::readlink("/proc/self/exe", path.data(), path.size());
  const std::string self(path.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::string folder = self.substr(0, self.rfind('/') + 1);
  for (const auto& candidate : {folder + "../libexec/harena/harena-attack", folder + "harena-attack"}) {
    if (::access(candidate.c_str(), R_OK) == 0) return candidate;
  }
  return folder + "../libexec/harena/harena-attack";
}

/// Any image does: the attacks need nothing of it.
Result<std::string> image_of(client::Client& client, const IncidentOptions& options) {
  if (!options.image.empty()) return options.image;
  std::string first;
  HARENA_TRY_STATUS(client::Images(client).list("", [&first](const json& image) {
    if (first.empty()) first = text_or(image, "reference", text_or(image, "name"));
    return Status();
  }));
  if (!first.empty()) return first;
  return make_error(ErrorCode::failed_precondition, "there is no image to make the sandbox of; import one (harena images import), or name one with --image");
}

struct RowSummary {
  std::size_t held = 0;
  std::vector<std::string> broken, absent;
};

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string sentence(const RowSummary& row) {
  std::string text = std::to_string(row.held) + (row.held == 1 ? " attempt failed as it should" : " attempts failed as they should");
  if (!row.broken.empty()) text = "BROKEN: " + joined(row.broken) + "; " + text;
  if (!row.absent.empty()) text += "; not on this host: " + joined(row.absent);
  return text;
}

Status print_summary(const std::vector<IncidentFinding>& findings) {
  std::map<int, RowSummary> rows;
  for (const auto& one : findings) {
    auto& row = rows[one.row];
    if (one.verdict == "held") ++row.held;
    if (one.verdict == "broken") row.broken.push_back(one.rule);
    if (one.verdict == "absent") row.absent.push_back(one.rule);
  }
  Table table({"ROW", "RULE", "HERE", "HOW"});
  for (const auto& [number, row] : rows) {
    const char* here = !row.broken.empty() ? "NOT ENFORCED" : row.held == 0 ? "not enforceable" : "enforced";
    table.add({std::to_string(number), incident_title(number), here, sentence(row)});
  }
  return table.print();
}

Status print_each(const std::vector<IncidentFinding>& findings) {
  Table table({"ROW", "ATTEMPT", "VERDICT", "DETAIL"});
  for (const auto& one : findings) table.add({std::to_string(one.row), one.rule, one.verdict, one.detail});
  return table.print();
}

Status print(const Program& program, const IncidentOptions& options, const std::vector<IncidentFinding>& findings) {
  if (!program.options.json) return options.each ? print_each(findings) : print_summary(findings);
  json list = json::array();
  for (const auto& one : findings) list.push_back({{"row", one.row}, {"rule", one.rule}, {"verdict", one.verdict}, {"detail", one.detail}});
  return print_json(list);
}

/// Small limits, so that the bombs end soon.
json box_of(const std::string& image, bool has_disk) {
  json params = {{"cpu", 1}, {"memory", "128MiB"}, {"pids", 64}, {"open_files", 1000}, {"shm", "8MiB"}};
  if (has_disk) params.update({{"disk", "64MiB"}, {"inodes", 8000}});
  return {{"image", image}, {"idle_ttl_s", 600}, {"params", std::move(params)}};
}

Result<int> incidents(Program& program, const IncidentOptions& options) {
  HARENA_TRY(const auto client, program.connect());
  HARENA_TRY(const auto image, image_of(*client, options));
  client::Sandboxes sandboxes(*client);
  bool has_disk = true;
  auto made = sandboxes.create("container", box_of(image, has_disk));
  if (!made.ok() && made.error().code == ErrorCode::failed_precondition && made.error().cause == Cause::infrastructure) {
    has_disk = false;
    made = sandboxes.create("container", box_of(image, has_disk));
  }
  HARENA_TRY(const auto sandbox, std::move(made));
  const auto program_path = options.program.empty() ? find_attack_program() : options.program;
  auto findings = IncidentPlay(*client, sandbox.id, program_path).run(has_disk);
  auto stopped = sandboxes.stop(sandbox.id);
  HARENA_TRY(const auto found, std::move(findings));
  HARENA_TRY(const auto gone, std::move(stopped));
  HARENA_TRY_STATUS(print(program, options, found));
  for (const auto& one : found) {
    if (one.verdict == "broken") return kExitFindings;
  }
  return kExitOk;
}

}  // namespace

void add_incidents(Program& program) {
  auto options = std::make_shared<IncidentOptions>();
  auto* command = program.command("incidents", "Play the known attacks in a sandbox here and say what holds",
                                  [&program, options] { return incidents(program, *options); });
  command->add_option("--image", options->image, "Image of the sandbox; any does");
  command->add_option("--program", options->program, "The attack program (harena-attack); found beside this program");
  command->add_flag("--each", options->each, "Every attempt instead of a line a row");
}

}  // namespace harena::cli
