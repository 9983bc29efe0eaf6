// completion: scripts for bash and zsh, made from the very options that the parser knows.

#include <algorithm>

#include "core/cli/print.hpp"
#include "core/cli/program.hpp"

namespace harena::cli {

namespace {

struct Node {
  std::string path;  // "images import"
  std::vector<std::string> words;
  bool takes_sandbox = false;
};

std::vector<std::string> words_of(const CLI::App& app) {
  std::vector<std::string> words;
  for (const auto* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    words.push_back(sub->get_name());
    for (const auto& alias : sub->get_aliases()) words.push_back(alias);
  }
  for (const auto* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) words.push_back("--" + name);
  }
  return words;
}

bool takes_sandbox(const CLI::App& app) {
  const auto options = app.get_options();
  return std::any_of(options.begin(), options.end(), [](const CLI::Option* one) { return one->get_name() == "sandbox"; });
}

void collect(const CLI::App& app, const std::string& path, const std::vector<std::string>& global, std::vector<Node>& nodes) {
  Node node{path, words_of(app), takes_sandbox(app)};
  if (!path.empty()) node.words.insert(node.words.end(), global.begin(), global.end());
  nodes.push_back(std::move(node));
  for (const auto* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    auto names = sub->get_aliases();
    names.insert(names.begin(), sub->get_name());
    for (const auto& name : names) collect(*sub, path.empty() ? name : path + " " + name, global, nodes);
  }
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::vector<Node> nodes_of(const CLI::App& app) {
  std::vector<Node> nodes;
  collect(app, "", {"--json", "--url", "--token"}, nodes);
  return nodes;
}

/// The command path is made of the words so far that are commands; option values between them don't disturb.
std::string bash_script(const CLI::App& app) {
  std::string cases;
  std::string paths;
  for (const auto& node : nodes_of(app)) {
    cases += "    '" + node.path + "') words='" + joined(node.words) + "'; sandbox=" + (node.takes_sandbox ? "1" : "0") + ";;\n";
    paths += "'" + node.path + "'|";
  }
  paths.pop_back();
  return "# bash completion for harena. Load it with: source <(harena completion bash)\n"
         "_harena() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} path='' next words='' sandbox=0 i\n"
         "  COMPREPLY=()\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    if [[ ${COMP_WORDS[i]} == -- ]]; then COMPREPLY=($(compgen -f -- \"$cur\")); return; fi\n"
         "    next=\"${path:+$path }${COMP_WORDS[i]}\"\n"
         "    case $next in " + paths + ") path=$next;; esac\n"
         "  done\n"
         "  case $path in\n" + cases +
         "  esac\n"
         "  if [[ $cur != -* && $sandbox == 1 ]]; then words+=\" $(harena ls -q 2>/dev/null)\"; fi\n"
         "  if [[ $path == cp && $cur != -* ]]; then compopt -o default; return; fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
         "}\n"
         "complete -F _harena harena\n";
}

std::string zsh_script(const CLI::App& app) {
  std::string cases;
  std::string paths;
  for (const auto& node : nodes_of(app)) {
    cases += "    ('" + node.path + "') list=(" + joined(node.words) + "); sandbox=" + (node.takes_sandbox ? "1" : "0") + ";;\n";
    paths += "'" + node.path + "'|";
  }
  paths.pop_back();
  return "#compdef harena\n"
         "# zsh completion for harena. Load it with: source <(harena completion zsh)\n"
         "_harena() {\n"
         "  local cpath='' next sandbox=0 i\n"
         "  local -a list\n"
         "  for ((i = 2; i < CURRENT; i++)); do\n"
         "    if [[ ${words[i]} == -- ]]; then _files; return; fi\n"
         "    next=\"${cpath:+$cpath }${words[i]}\"\n"
         "    case $next in (" + paths + ") cpath=$next;; esac\n"
         "  done\n"
         "  case $cpath in\n" + cases +
         "  esac\n"
         "  if [[ ${words[CURRENT]} != -* && $sandbox == 1 ]]; then list+=(${(f)\"$(harena ls -q 2>/dev/null)\"}); fi\n"
         "  if [[ $cpath == cp && ${words[CURRENT]} != -* ]]; then _files; return; fi\n"
         "  compadd -- $list\n"
         "}\n"
         "compdef _harena harena\n";
}

}  // namespace

void add_completion(Program& program) {
  auto shell = std::make_shared<std::string>();
  auto* sub = program.command("completion", "Print a completion script: source <(harena completion bash)",
                              [&program, shell]() -> Result<int> {
                                HARENA_TRY_STATUS(write_all(1, *shell == "bash" ? bash_script(program.app) : zsh_script(program.app)));
                                return kExitOk;
                              });
  sub->add_option("shell", *shell, "bash or zsh")->required()->check(CLI::IsMember({"bash", "zsh"}));
}

}  // namespace harena::cli
