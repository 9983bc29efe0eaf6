#pragma once
// The seccomp filter of commands sits on the process that makes them, and they inherit it: installing it anew for each costs 200 us
// (it is checked, translated, compiled, and taken apart again at the end), inheriting costs nothing.
//
// But between a command's clone and its exec two calls are needed that the filter refuses to every program: clone3 (the only call by which a
// process is born in a cgroup) and setns. So the filter lets these through for whoever shows a key: 128 random bits in two argument
// registers that the kernel doesn't look at for them. The key exists in the spawner and in its children until they exec; both are
// not dumpable, so nothing in the sandbox can read it there, and exec clears memory and registers.

#include <linux/filter.h>

#include <cstdint>
#include <vector>

#include "sdk/base/result.hpp"

namespace harena::shim {

class FilterKey {
 public:
  /// From the kernel's random source.
  static Result<FilterKey> make();

  /// clone3(2) and setns(2) as syscall(2) returns them: -1 and errno. The key does no harm where no filter asks for it.
  long clone3(void* arguments, std::size_t size) const;
  long setns(int fd, int kinds) const;
  /// The same for processes that share memory: no errno, it comes back with a minus. The child runs `body` with `data` on the stack that
  /// `arguments` has, and never returns.
  long clone3_beside(const void* arguments, std::size_t size, void (*body)(void*), void* data) const;
  long raw_setns(int fd, int kinds) const;

  /// The program with the key's door in front. Its jumps are relative, so it stays as it was.
  std::vector<sock_filter> open_door_in(const std::vector<sock_filter>& program) const;
  /// By so many instructions it grows.
  static constexpr std::size_t kDoorInstructions = 12;

 private:
  std::uint64_t first_ = 0;
  std::uint64_t second_ = 0;
};

}  // namespace harena::shim
