#include "sdk/base/standard_streams.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace harena {
namespace {

/// 0, or the number of the first thing that isn't as it should be, of a process without these streams.
int without_streams(bool in, bool out, bool err) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool closed[] = {in, out, err};
    for (int fd = 0; fd < 3; ++fd) {
      if (closed[fd]) ::close(fd);
    }
    fill_standard_streams();
    char byte = 0;
    if (in && ::read(STDIN_FILENO, &byte, 1) != 0) ::_exit(1);
    if (out && (::write(STDOUT_FILENO, "x", 1) >= 0 || errno != EBADF)) ::_exit(2);
    if (err && (::write(STDERR_FILENO, "x", 1) >= 0 || errno != EBADF)) ::_exit(3);
    if (::open("/dev/null", O_RDONLY | O_CLOEXEC) <= STDERR_FILENO) ::_exit(4);
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(StandardStreams, WhatIsMissingIsFilledAndNothingElseTakesItsNumber) {
  for (const int missing : {0, 1, 2, 3, 4, 5, 6, 7}) {
    EXPECT_EQ(without_streams((missing & 1) != 0, (missing & 2) != 0, (missing & 4) != 0), 0) << missing;
  }
}

}  // namespace
}  // namespace harena
