#include "shim/command_plan.hpp"

#include <algorithm>

#include "sdk/base/text.hpp"

namespace harena::shim {

using session::StartRequest;

namespace {

constexpr std::string_view kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

using Variables = std::vector<std::pair<std::string, std::string>>;

void set_variable(Variables& all, const std::string& name, const std::string& value) {
  auto it = std::find_if(all.begin(), all.end(), [&](const auto& v) { return v.first == name; });
  if (it == all.end()) {
    all.emplace_back(name, value);
  } else {
    it->second = value;
  }
}

Variables inherited(const Sandbox& sandbox, const StartRequest& request, const Identity& identity) {
  // Not even HOME: the agent wrote /etc/passwd.
  if (request.trusted_tools) return {{"PATH", sandbox.options().tools}, {"HOME", "/"}};
  if (request.replace_env) return {};
  Variables all = {{"PATH", std::string(kDefaultPath)}};
  for (const auto& [name, value] : sandbox.options().environment) set_variable(all, name, value);
  set_variable(all, "HOME", identity.home);
  set_variable(all, "USER", identity.name);
  set_variable(all, "LOGNAME", identity.name);
  if (request.pty) set_variable(all, "TERM", "xterm-256color");
  return all;
}

}  // namespace

Environment make_environment(const Sandbox& sandbox, const StartRequest& request, const Identity& identity) {
  Variables all = inherited(sandbox, request, identity);
  for (const auto& [name, value] : request.env) set_variable(all, name, value);
  Environment lines;
  for (const auto& [name, value] : all) lines.push_back(name + "=" + value);
  return lines;
}

std::string search_path(const Sandbox& sandbox, const StartRequest& request, const Environment& environment) {
  if (request.trusted_tools) return sandbox.options().tools;
  for (const auto& line : environment) {
    if (line.starts_with("PATH=")) return line.substr(5);
  }
  return std::string(kDefaultPath);
}

std::string shell_of(const Sandbox& sandbox, const StartRequest& request) {
  return request.trusted_tools ? sandbox.options().tools + "/sh" : "/bin/sh";
}

std::vector<std::string> executables(const std::string& program, const std::string& path) {
  if (program.find('/') != std::string::npos) return {program};
  std::vector<std::string> all;
  for (const auto& folder : split(path, ':')) all.push_back(folder.empty() ? program : folder + "/" + program);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (auto& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace harena::shim
