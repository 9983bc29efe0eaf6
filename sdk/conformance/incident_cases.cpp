// Level 3, harena.backend/1: the attacks of the incidents (tests/incidents), played as root inside a sandbox that the backend made.

#include <fstream>
#include <sstream>

#include "sdk/conformance/backend_kit.hpp"
#include "sdk/conformance/session_line.hpp"

namespace harena::conformance {
namespace {

constexpr const char* kInside = "/tmp/harena-attack";
constexpr int kTimeoutS = 180;

std::string attack_program(Context& c) {
  const auto& path = c.subject().attack_program;
  if (path.empty()) c.skip("the attack program (harena-attack) isn't beside this one; name it with --attack-program");
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (bytes.empty()) c.fail("can't read the attack program " + path.string());
  return bytes;
}

/// The sandbox's session endpoint; skips for backends without sessions.
std::string endpoint_of(Context& c, BackendRun& run, const std::string& id) {
  const std::string endpoint = c.need(run->recover(id, run.state_of(id)), "recover").value("session_endpoint", "");
  if (endpoint.empty()) c.skip("this request makes no session");
  return endpoint;
}

std::string broken_rules(Context& c, const std::string& output) {
  std::istringstream lines(output);
  std::string broken;
  int seen = 0;
  for (std::string line; std::getline(lines, line);) {
    const json one = json::parse(line, nullptr, false);
    if (!one.is_object()) continue;
    ++seen;
    if (one.value("verdict", "") == "broken") broken += "\n  " + one.value("rule", "") + ": " + one.value("detail", "");
  }
  c.require(seen > 0, "the attack program printed nothing");
  return broken;
}

void play(Context& c, const std::string& row) {
  const std::string program = attack_program(c);
  BackendRun run(c);
  if (c.need(run->describe(), "describe").value("session", false) != true) c.skip("this backend's sandboxes have no session");
  const std::string id = run.create();
  auto line = c.need(SessionLine::connect(endpoint_of(c, run, id)), "connecting to the session endpoint");
  c.need_ok(line.write_file(kInside, 0755, program), "writing the attack program into the sandbox");
  const auto result = c.need(line.run({kInside, "row", row}), "running the attack program");
  const std::string broken = broken_rules(c, result.output);
  c.require(broken.empty(), "row " + row + " of the incidents doesn't hold:" + broken);
  c.require(result.exit.code == 0, "the attack program ended with code " + std::to_string(result.exit.code));
  run.stop(id);
  run.need_gone(id, "stop");
}

Case attack(const std::string& name, const std::string& row, const std::string& promise) {
  return {"attack." + name, 3, HARENA_BACKEND_CONTRACT, promise, [row](Context& c) { play(c, row); }, kTimeoutS};
}

}  // namespace

std::vector<Case> incident_cases() {
  return {attack("platform_files", "1", "nothing of the platform is visible to root inside"),
          attack("manager", "2", "there is nothing inside to forge requests to"),
          attack("logs", "3", "what a command printed is in no file of the sandbox"),
          attack("tools", "4", "trusted tools, where there are some, can't be changed or covered"),
          attack("kernel_calls", "5", "dangerous calls of file systems and kernel are refused"),
          attack("proc_and_sys", "9", "/proc and /sys show and take nothing of the machine"),
          attack("odd_files", "14", "odd names, deep trees and sparse files are errors of the agent's alone, and stop removes them"),
          attack("servers", "16", "the sandbox can't kill, stop or starve what serves it")};
}

}  // namespace harena::conformance
