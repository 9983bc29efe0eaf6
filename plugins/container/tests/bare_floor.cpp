#include "plugins/container/tests/bare_floor.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace harena::container::testing {
namespace {

int bare_child(void* raw) {
  const auto& folder = *static_cast<const std::string*>(raw);
  const std::string options = "lowerdir=" + folder + "/lower,upperdir=" + folder + "/u,workdir=" + folder + "/w";
  const std::string root = folder + "/root";
  ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  if (::mount("overlay", root.c_str(), "overlay", 0, options.c_str()) != 0) ::_exit(1);
  if (::chdir(root.c_str()) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0 || ::umount2(".", MNT_DETACH) != 0) ::_exit(2);
  ::execl("/bin/true", "true", nullptr);
  ::_exit(3);
}

}  // namespace

int bare_floor(const std::string& folder) {
  for (const char* name : {"u", "w"}) ::mkdir((folder + "/" + name).c_str(), 0755);
  alignas(16) static char stack[65536];
  constexpr int kAll = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP | SIGCHLD;
  const int pid = ::clone(bare_child, stack + sizeof stack, kAll, const_cast<std::string*>(&folder));
  int status = -1;
  if (pid > 0) ::waitpid(pid, &status, 0);
  return status;
}

}  // namespace harena::container::testing
