#include "shim/spawn.hpp"

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <vector>

#include "shim/start_failure.hpp"

namespace harena::shim {

Error clone_error(int error_number) { return error_number == EAGAIN ? pids_error() : errno_error(error_number, "starting a process"); }

Result<Child> clone_child(int cgroup_fd, const std::function<void()>& body, Parent parent, const FilterKey& key) {
  int pidfd = -1;
  clone_args args{};
  args.flags = CLONE_PIDFD | CLONE_CLEAR_SIGHAND;
  args.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  // A sibling's exit signal is the one that its maker has: SIGCHLD.
  if (parent == Parent::callers) args.flags |= CLONE_PARENT;
  args.exit_signal = parent == Parent::caller ? SIGCHLD : 0;
  if (cgroup_fd >= 0) {
    args.flags |= CLONE_INTO_CGROUP;
    args.cgroup = static_cast<std::uint64_t>(cgroup_fd);
  }
  // The shim has one thread, so the child may use the heap.
  long pid = key.clone3(&args, sizeof args);
  if (pid < 0) return clone_error(errno);
  if (pid == 0) {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    body();
    ::_exit(127);
  }
  return Child{static_cast<pid_t>(pid), UniqueFd(pidfd)};
}

Result<std::pair<UniqueFd, UniqueFd>> make_report_channel() {
  std::array<int, 2> pair;
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) return errno_error(errno, "socketpair");
  return std::pair(UniqueFd(pair[0]), UniqueFd(pair[1]));
}

bool send_with_fd(int socket, std::string_view bytes, int fd) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

void send_report(int channel, Report kind, std::string_view body, int fd) {
  std::string message(1, static_cast<char>(kind));
  message.append(body.substr(0, 8192));
  (void)send_with_fd(channel, message, fd);
}

ReportMessage receive_report(int channel) {
  std::array<char, 8193> buffer;
  iovec part{buffer.data(), buffer.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  auto got = ::recvmsg(channel, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  ReportMessage report;
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) report.kind = Report::again;
  if (got <= 0) return report;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_type != SCM_RIGHTS) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    report.fd.reset(fd);
  }
  report.kind = static_cast<Report>(buffer[0]);
  report.body.assign(buffer.data() + 1, static_cast<std::size_t>(got - 1));
  return report;
}

void close_all_but(std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned from = 3;
  for (int fd : kept) {
    if (fd < 3) continue;
    auto number = static_cast<unsigned>(fd);
    if (number > from) ::syscall(SYS_close_range, from, number - 1, 0);
    from = number + 1;
  }
  ::syscall(SYS_close_range, from, UINT_MAX, 0);
}

}  // namespace harena::shim
