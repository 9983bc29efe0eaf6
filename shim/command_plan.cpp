#include "shim/command_plan.hpp"

#include <unordered_map>
#include <utility>

#include "sdk/base/text.hpp"

namespace harena::shim {

using session::StartRequest;

namespace {

constexpr std::string_view kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Lines in the order in which their names came first; a later value takes the place of an earlier one.
class Variables {
 public:
  void set(const std::string& name, const std::string& value) {
    const auto [place, is_new] = places_.try_emplace(name, lines_.size());
    if (is_new) lines_.emplace_back();
    lines_[place->second] = name + "=" + value;
  }
  Environment take() { return std::move(lines_); }

 private:
  std::unordered_map<std::string, std::size_t> places_;
  Environment lines_;
};

void add_inherited(Variables& all, const Sandbox& sandbox, const StartRequest& request, const Identity& identity) {
  if (request.trusted_tools) {
    // Not even HOME: the agent wrote /etc/passwd.
    all.set("PATH", sandbox.options().tools);
    return all.set("HOME", "/");
  }
  if (request.replace_env) return;
  all.set("PATH", std::string(kDefaultPath));
  for (const auto& [name, value] : sandbox.options().environment) all.set(name, value);
  all.set("HOME", identity.home);
  all.set("USER", identity.name);
  all.set("LOGNAME", identity.name);
  if (request.pty) all.set("TERM", "xterm-256color");
}

}  // namespace

Environment make_environment(const Sandbox& sandbox, const StartRequest& request, const Identity& identity) {
  Variables all;
  add_inherited(all, sandbox, request, identity);
  for (const auto& [name, value] : request.env) all.set(name, value);
  return all.take();
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

std::vector<std::string> shell_words(const Sandbox& sandbox, const StartRequest& request) {
  std::vector<std::string> words = {shell_of(sandbox, request), "-c"};
  // Else the shell would take it for options.
  if (request.shell.front() == '-' || request.shell.front() == '+') words.emplace_back("--");
  words.push_back(request.shell);
  return words;
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
