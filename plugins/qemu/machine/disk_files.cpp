// The files of a machine's own: an overlay a disk, UEFI's variables, the cloud-init seed.

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "plugins/qemu/machine/machine.hpp"
#include "sdk/support/files.hpp"
#include "sdk/vmm/qcow2_file.hpp"

namespace harena::qemu {
namespace {

/// To its end; its output is nobody's. Its arguments are ours, no shell reads them.
Status run_tool(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const auto& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  char* environment[] = {const_cast<char*>("PATH=/usr/sbin:/usr/bin:/sbin:/bin"), nullptr};
  pid_t pid = -1;
  const int failed = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environment);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return errno_error(failed, "starting " + command[0]);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return infrastructure_error(ErrorCode::unavailable, "disk", command[0] + " failed (" + command[1] + "), status " +
      std::to_string(status));
}

Status make_raw_disk(const std::string& path, std::int64_t size_bytes) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file || ::ftruncate(file.get(), size_bytes) != 0) return errno_error(errno, "making " + path);
  return {};
}

}  // namespace

Status Machine::make_disks() {
  for (std::size_t i = 0; i < config_.disks.size(); ++i) {
    const std::string path = config_.vm_dir + "/" + disk_file(config_, i);
    // Without a name of its parent in it: the graph is on QEMU's command line.
    const auto& disk = config_.disks[i];
    HARENA_TRY_STATUS(disk.raw ? make_raw_disk(path, disk.size_bytes) : vmm::make_qcow2_overlay(path, disk.size_bytes));
  }
  if (!config_.uefi) return {};
  // As qcow2: a snapshot holds them too.
  return run_tool({config_.qemu_img, "convert", "-f", "raw", "-O", "qcow2", config_.firmware_vars, config_.vm_dir + "/" + kVariablesFile});
}

Status Machine::make_seed() {
  if (!config_.has_cloud_init) return {};
  const std::string folder = config_.vm_dir + "/seed";
  if (::mkdir(folder.c_str(), 0700) != 0) return errno_error(errno, "making " + folder);
  const CloudInit& seed = config_.cloud_init;
  const std::string& id = config_.sandbox;
  const std::string meta = seed.meta_data.empty() ? "instance-id: " + id + "\nlocal-hostname: " + id + "\n" : seed.meta_data;
  HARENA_TRY_STATUS(create_file_at(AT_FDCWD, folder + "/meta-data", meta, 0600));
  HARENA_TRY_STATUS(create_file_at(AT_FDCWD, folder + "/user-data", seed.user_data.empty() ? "#cloud-config\n{}\n" : seed.user_data, 0600));
  if (!seed.network_config.empty()) HARENA_TRY_STATUS(create_file_at(AT_FDCWD, folder + "/network-config", seed.network_config, 0600));
  // cloud-init's NoCloud: a file system with the label "cidata".
  const std::string made = config_.vm_dir + "/" + kSeedFile;
  return run_tool({config_.iso_maker, "-quiet", "-output", made, "-volid", "cidata", "-joliet", "-rock", folder});
}

}  // namespace harena::qemu
