// harena-attack: the attacks of incidents.md, to be run inside a sandbox.
//
//   harena-attack row N...        tries the rules of the rows; a JSON document a line, exit status 1 when one is broken
//   (any other name)             a lie: what replaced tools answer
//   harena-attack VERB ARGUMENT.. an attack that somebody watches from outside (attack.hpp)

#include <cstdio>
#include <cstring>
#include <map>

#include "tests/incidents/attacks/attack.hpp"

namespace harena::incidents {
namespace {

const std::map<std::string, void (*)(Report&)> kRows = {{"1", row_1}, {"2", row_2}, {"3", row_3},   {"4", row_4},
                                                        {"5", row_5}, {"9", row_9}, {"14", row_14}, {"16", row_16}};
const std::map<std::string, int (*)(const std::vector<std::string>&)> kVerbs = {
    {"trace", trace_process}, {"replace-tools", replace_tools}, {"flood", flood},
    {"swap", swap_for_ever},  {"bomb", bomb},                   {"clean", clean_up},                   {"attack-servers", attack_servers}, {"traps", lay_traps}};

const char* to_text(Verdict verdict) {
  return verdict == Verdict::held ? "held" : verdict == Verdict::broken ? "broken" : "absent";
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') result += '\\';
    result += byte < 0x20 || byte > 0x7e ? '?' : c;
  }
  return result + "\"";
}

bool run_row(const std::string& row, void (*attack)(Report&)) {
  Report report(std::stoi(row));
  attack(report);
  bool all_held = true;
  for (const auto& finding : report.findings()) {
    all_held = all_held && finding.verdict != Verdict::broken;
    std::printf("{\"row\": %d, \"rule\": %s, \"verdict\": \"%s\", \"detail\": %s}\n", finding.row, quoted(finding.rule).c_str(),
                to_text(finding.verdict), quoted(finding.detail).c_str());
  }
  std::fflush(stdout);
  return all_held;
}

int run_rows(const std::vector<std::string>& rows) {
  bool all_held = true;
  for (const auto& row : rows) {
    auto attack = kRows.find(row);
    if (attack == kRows.end()) {
      std::fprintf(stderr, "no row '%s' is played from inside\n", row.c_str());
      return 2;
    }
    all_held = run_row(row, attack->second) && all_held;
  }
  return all_held ? 0 : 1;
}

}  // namespace
}  // namespace harena::incidents

int main(int argc, char** argv) {
  using namespace harena::incidents;
  // What replace_tools() left in the place of a tool.
  if (std::strstr(argv[0], "harena-attack") == nullptr) return std::puts("hacked"), 0;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) return 2;
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (arguments[0] == "row") return run_rows(rest);
  auto verb = kVerbs.find(arguments[0]);
  return verb == kVerbs.end() ? 2 : verb->second(rest);
}
