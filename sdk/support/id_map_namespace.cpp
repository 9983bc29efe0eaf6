#include "sdk/support/id_map_namespace.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <memory>
#include <string>

#include "sdk/support/files.hpp"

namespace harena {
namespace {

struct Stack {
  alignas(16) char bytes[4096];
};

// Runs in our memory on its own small stack, as in namespace_holder.cpp.
int sleep_until_killed(void*) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  while (true) ::pause();
}

/// The process that owns the namespace until a descriptor does.
class Owner {
 public:
  Owner() : stack_(std::make_unique<Stack>()) {
    pid_ = ::clone(sleep_until_killed, stack_.get() + 1, CLONE_VM | CLONE_NEWUSER | SIGCHLD, nullptr);
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, __WALL) < 0 && errno == EINTR) {
    }
  }
  pid_t pid() const { return pid_; }

 private:
  std::unique_ptr<Stack> stack_;
  pid_t pid_ = -1;
};

}  // namespace

Result<UniqueFd> id_map_namespace(const std::vector<IdMapping>& mappings) {
  Owner owner;
  if (owner.pid() < 0) return errno_error(errno, "clone with a new user namespace");
  std::string map;
  for (const auto& one : mappings) {
    map += std::to_string(one.from) + " " + std::to_string(one.to) + " " + std::to_string(one.count) + "\n";
  }
  const std::string proc = "/proc/" + std::to_string(owner.pid());
  HARENA_TRY_STATUS(write_file_at(AT_FDCWD, proc + "/uid_map", map));
  HARENA_TRY_STATUS(write_file_at(AT_FDCWD, proc + "/gid_map", map));
  UniqueFd result(::open((proc + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  if (!result) return errno_error(errno, "open the new user namespace");
  return result;
}

}  // namespace harena
