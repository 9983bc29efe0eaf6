#pragma once
// clone3(2) and the channel on which a child tells the shim how far it came.

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"
#include "shim/filter_key.hpp"

namespace harena::shim {

struct Child {
  /// In the shim's own pid namespace.
  pid_t pid = -1;
  UniqueFd pidfd;
};

/// Whose child the new process is: the caller's, or its parent's (CLONE_PARENT).
enum class Parent { caller, callers };

/// Runs `body` in a child with default signal handlers, born in the v2 cgroup `cgroup_fd` (-1: the shim's own). A plain
/// copy-on-write fork: were the child to share memory or suspend its parent (vfork), an agent that stops it
/// could stop the shim. resource_exhausted (limit, pids) on EAGAIN.
/// `key`: of the caller's seccomp filter, if it has one.
Error clone_error(int error_number);
Result<Child> clone_child(int cgroup_fd, const std::function<void()>& body, Parent parent = Parent::caller, const FilterKey& key = {});

/// Reports travel over a SOCK_SEQPACKET pair: a letter, then bytes.
enum class Report : char { born = 'B', pid = 'P', error = 'E', pty = 'T', done = 'D', failed = 'F', leftover = 'L', closed = 0, again = 1 };

struct ReportMessage {
  Report kind = Report::closed;
  std::string body;
  /// With pty: the master.
  UniqueFd fd;
};

Result<std::pair<UniqueFd, UniqueFd>> make_report_channel();
void send_report(int channel, Report kind, std::string_view body, int fd = -1);
/// Non-blocking: `again` when nothing is there, `closed` at the end.
ReportMessage receive_report(int channel);

/// Sends one message of plain bytes with a descriptor; false with errno set.
bool send_with_fd(int socket, std::string_view bytes, int fd);

/// Every descriptor from 3 on but these.
void close_all_but(std::vector<int> kept);

}  // namespace harena::shim
