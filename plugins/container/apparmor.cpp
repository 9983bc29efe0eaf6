#include "plugins/container/apparmor.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "sdk/support/files.hpp"
#include "sdk/support/masked_paths.hpp"

namespace harena::container {
namespace {

constexpr const char* kParser = "/usr/sbin/apparmor_parser";

Result<UniqueFd> memory_file(const std::string& text) {
  UniqueFd fd(::memfd_create("profile", MFD_CLOEXEC));
  if (!fd) return errno_error(errno, "memfd_create");
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) || ::lseek(fd.get(), 0, SEEK_SET) != 0) {
    return errno_error(errno, "write a memory file");
  }
  return fd;
}

/// posix_spawn: the daemon must never fork. The profile is the parser's stdin, what it says goes into `output`.
Result<int> run_parser(int profile, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, profile, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_adddup2(&actions, output, 2);
  std::string words[] = {"apparmor_parser", "--replace", "--skip-cache"};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  char* environment[] = {nullptr};
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, kParser, &actions, nullptr, argv, environment);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) return make_error(ErrorCode::failed_precondition, "apparmor_parser isn't installed (apt-get install apparmor)");
  if (error != 0) return errno_error(error, "start apparmor_parser");
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return errno_error(errno, "wait for apparmor_parser");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

std::string deny_lines() {
  std::string lines;
  for (const char* file : kMaskedFiles) lines += std::string("  deny /") + file + " rwklmx,\n";
  for (const char* folder : kMaskedFolders) lines += std::string("  deny /") + folder + "/** rwklmx,\n";
  for (const char* folder : kReadOnlyFolders) lines += std::string("  deny /") + folder + "/** wklx,\n";
  return lines;
}

}  // namespace

Result<ApparmorMode> apparmor_mode(const std::string& text) {
  if (text == "auto") return ApparmorMode::automatic;
  if (text == "required") return ApparmorMode::required;
  if (text == "off") return ApparmorMode::off;
  return make_error(ErrorCode::invalid_argument, "apparmor is '" + text + "'; auto, required or off is right");
}

std::string apparmor_profile_name(const std::string& instance) { return "harena-" + instance; }

std::string apparmor_profile_text(const std::string& name) {
  // attach_disconnected: an overlay whose layers are detached mounts has no path in the host's tree.
  return "profile " + name + " flags=(attach_disconnected,mediate_deleted) {\n"
         "  network,\n  capability,\n  file,\n  unix,\n"
         "  deny mount,\n  deny umount,\n  deny remount,\n  deny pivot_root,\n"
         "  signal (receive) peer=unconfined,\n  signal (send, receive) peer=" + name + ",\n"
         "  ptrace (trace, tracedby, read, readby) peer=" + name + ",\n" + deny_lines() + "}\n";
}

bool kernel_has_apparmor(const std::string& root) {
  auto enabled = read_file_at(AT_FDCWD, root + "/sys/module/apparmor/parameters/enabled");
  return enabled.ok() && enabled->starts_with("Y");
}

Status load_apparmor_profile(const std::string& name) {
  HARENA_TRY(UniqueFd profile, memory_file(apparmor_profile_text(name)));
  HARENA_TRY(UniqueFd output, memory_file(""));
  HARENA_TRY(const int code, run_parser(profile.get(), output.get()));
  if (code == 0) return {};
  std::string said(2048, '\0');
  const ssize_t length = ::pread(output.get(), said.data(), said.size(), 0);
  said.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return make_error(ErrorCode::failed_precondition, "apparmor_parser refused the profile " + name + ": " + said);
}

Result<std::string> prepare_apparmor(ApparmorMode mode, const std::string& instance) {
  if (mode == ApparmorMode::off) return std::string();
  if (!kernel_has_apparmor()) {
    if (mode == ApparmorMode::automatic) return std::string();
    return make_error(ErrorCode::failed_precondition, "the container plugin's setting apparmor is \"required\", and this kernel has no AppArmor; boot one with apparmor=1, or set \"auto\"");
  }
  const std::string name = apparmor_profile_name(instance);
  auto loaded = load_apparmor_profile(name);
  if (!loaded.ok()) return std::move(loaded).error().during("AppArmor (set apparmor to \"off\" to do without)");
  return name;
}

}  // namespace harena::container
