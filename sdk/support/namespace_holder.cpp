#include "sdk/support/namespace_holder.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "sdk/support/files.hpp"
#include "sdk/support/id_range.hpp"

namespace harena {

struct NamespaceHolder::Stack {
  alignas(16) char bytes[4096];
};

namespace {

// Runs in our memory on its own small stack: system calls that can't fail in a way that writes errno, nothing else.
int sleep_until_killed(void* parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A parent that was killed before sends no signal any more.
  if (::getppid() != static_cast<pid_t>(reinterpret_cast<std::intptr_t>(parent))) return 1;
  while (true) ::pause();
}

}  // namespace

NamespaceHolder::NamespaceHolder(NamespaceHolder&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      pidfd_(std::move(other.pidfd_)),
      user_namespace_(std::move(other.user_namespace_)),
      stack_(std::move(other.stack_)) {}

NamespaceHolder::~NamespaceHolder() { end_process(); }

void NamespaceHolder::end_process() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);  // our own unreaped child: the pid can't be anybody else's
  while (::waitpid(pid_, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

Result<NamespaceHolder> NamespaceHolder::make(std::uint32_t first_id) {
  NamespaceHolder holder;
  holder.stack_ = std::make_unique<Stack>();
  int pidfd = -1;
  constexpr int kFlags = CLONE_VM | CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_PIDFD | SIGCHLD;
  holder.pid_ = ::clone(sleep_until_killed, holder.stack_.get() + 1, kFlags,
                        reinterpret_cast<void*>(static_cast<std::intptr_t>(::getpid())), &pidfd);
  if (holder.pid_ < 0) return errno_error(errno, "clone with new user, net, ipc and uts namespaces");
  holder.pidfd_.reset(pidfd);
  const std::string proc = "/proc/" + std::to_string(holder.pid_);
  const std::string map = "0 " + std::to_string(first_id) + " " + std::to_string(kIdsMapped) + "\n";
  HARENA_TRY_STATUS(write_file_at(AT_FDCWD, proc + "/uid_map", map));
  HARENA_TRY_STATUS(write_file_at(AT_FDCWD, proc + "/gid_map", map));
  holder.user_namespace_.reset(::open((proc + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  if (!holder.user_namespace_) return errno_error(errno, "open the new user namespace");
  return holder;
}

Status NamespaceHolder::join_without_user() const {
  if (::setns(pidfd_.get(), CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) != 0) {
    return errno_error(errno, "join the sandbox's net, ipc and uts namespaces");
  }
  return {};
}

Status NamespaceHolder::join_user() const {
  if (::setns(user_namespace_.get(), CLONE_NEWUSER) != 0) return errno_error(errno, "join the sandbox's user namespace");
  return {};
}

}  // namespace harena
