// images build: runs one of the builders that come with Harena (deploy/image) and imports what it made.

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>

#include "core/cli/image_build.hpp"
#include "core/cli/words.hpp"

namespace harena::cli {

namespace {

/// What can be built, and the tag of the image that is known by its name without --reference.
const std::map<std::string, std::string>& builders() {
  static const std::map<std::string, std::string> known = {{"base", "root/base:v1"}, {"code-interpreter", "root/code-interpreter:v1"}};
  return known;
}

/// PREFIX/bin/harena has PREFIX/share/harena/image; build/PRESET/bin/harena the source tree's deploy/image.
Result<std::string> find_builder(const std::string& name) {
  std::array<char, 4096> path;
  const auto length = ::readlink("/proc/self/exe", path.data(), path.size());
  const std::string self(path.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::string folder = self.substr(0, self.rfind('/') + 1);
  const std::string script = "build-" + name + ".sh";
  for (const auto& place : {folder + "../share/harena/image/" + script, folder + "../../../deploy/image/" + script}) {
    if (::access(place.c_str(), X_OK) == 0) return place;
  }
  return make_error(ErrorCode::failed_precondition,
                    "the builder " + script + " isn't installed beside this program; install Harena again (cmake --install)");
}

/// Its progress goes to our standard error; its standard output too, so that ours holds the image's digest alone.
Status run_builder(const std::vector<std::string>& words) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  std::vector<char*> argv;
  for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));  // the contract of posix_spawn: it doesn't write
  argv.push_back(nullptr);
  ::pid_t pid = 0;
  const int problem = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) return errno_error(problem, "starting " + words.front());
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return errno_error(errno, "waiting for " + words.front());
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return make_error(ErrorCode::failed_precondition, words.front() + " failed; its lines above say why");
}

Status check_place(const client::Client& client) {
  if (!client.endpoint().loopback()) {
    return make_error(ErrorCode::failed_precondition,
                      "images are built on harenad's own machine, and this one talks to " + client.endpoint().describe() +
                          "; run the same command there");
  }
  if (::geteuid() == 0) return {};
  return make_error(ErrorCode::permission_denied, "building an image needs root, since the files in it belong to root; run it with sudo");
}

Result<std::string> known_name(const std::string& name) {
  const auto found = builders().find(name);
  if (found != builders().end()) return found->second;
  std::string all;
  for (const auto& [one, reference] : builders()) all += (all.empty() ? "" : ", ") + one;
  return make_error(ErrorCode::invalid_argument, "there is no builder for '" + name + "'; there are: " + all);
}

Result<std::vector<std::string>> builder_words(const BuildOptions& options, const std::string& script, const std::string& folder) {
  std::vector<std::string> words = {script, folder};
  if (options.name != "code-interpreter" && (!options.languages.empty() || options.small)) {
    return make_error(ErrorCode::invalid_argument, "--languages and --small are for code-interpreter; '" + options.name + "' has one form");
  }
  if (!options.languages.empty()) words.insert(words.end(), {"--languages", options.languages});
  if (options.small) words.emplace_back("--small");
  return words;
}

}  // namespace

Result<ImportOptions> build_image(const client::Client& client, const BuildOptions& options) {
  HARENA_TRY(const auto reference, known_name(options.name));
  HARENA_TRY_STATUS(check_place(client));
  if (!options.folder.starts_with('/')) {
    return make_error(ErrorCode::invalid_argument, "--folder is '" + options.folder + "'; an absolute path is right");
  }
  HARENA_TRY(const auto script, find_builder(options.name));
  const std::string folder = options.folder + "/" + options.name;
  HARENA_TRY(const auto words, builder_words(options, script, folder));
  HARENA_TRY_STATUS(run_builder(words));
  ImportOptions made;
  made.reference = options.reference.empty() ? reference : options.reference;
  made.folder = folder;
  return made;
}

}  // namespace harena::cli
