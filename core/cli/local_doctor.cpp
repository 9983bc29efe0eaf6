#include "core/cli/local_doctor.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "sdk/base/unique_fd.hpp"

extern char** environ;

namespace harena::cli {
namespace {

using nlohmann::json;

std::string program_beside(const char* name) {
  std::error_code problem;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", problem);
  return (self.parent_path() / name).string();
}

/// What it wrote to stdout; what it says on stderr is the user's to see.
Result<std::string> output_of(std::vector<std::string> words) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno_error(errno, "pipe");
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, write_end.get(), 1);
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return errno_error(error, "start " + words[0]);
  write_end.reset();
  std::string text;
  std::array<char, 65536> block;
  for (ssize_t got = 0; (got = ::read(read_end.get(), block.data(), block.size())) != 0;) {
    if (got > 0) text.append(block.data(), static_cast<std::size_t>(got));
    else if (errno != EINTR) break;
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return text;
}

}  // namespace

Result<json> local_findings(const std::string& config, const std::string& reason) {
  const std::string daemon = program_beside("harenad");
  if (::access(daemon.c_str(), X_OK) != 0) {
    return make_error(ErrorCode::not_found, (reason.empty() ? "" : reason + "; and ") + "there is no " + daemon + " to look at this machine without a server");
  }
  std::vector<std::string> words = {daemon, "--doctor"};
  if (!config.empty()) words.insert(words.end(), {"--config", config});
  HARENA_TRY(const std::string text, output_of(words));
  const auto answer = json::parse(text, nullptr, false);
  json findings = json::array();
  if (!reason.empty()) {
    findings.push_back({{"id", "harenad"}, {"level", "error"}, {"what", "no harenad answers: " + reason},
                        {"why", "no sandbox can be made or reached; what follows was found without it"},
                        {"fix", "systemctl start harenad, then journalctl -u harenad (without systemd: deploy/quickstart.sh)"}});
  }
  if (!answer.is_object() || !answer.contains("findings")) {
    findings.push_back({{"id", "harenad.config"}, {"level", "error"}, {"what", daemon + " --doctor can't look: it says why above"},
                        {"why", "harenad wouldn't start either"}, {"fix", "mend what it names (harena.json)"}});
    return findings;
  }
  for (const auto& one : answer["findings"]) findings.push_back(one);
  return findings;
}

}  // namespace harena::cli
