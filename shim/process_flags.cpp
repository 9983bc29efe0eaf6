#include "shim/process_flags.hpp"

#include <fcntl.h>

#include <cstdio>
#include <string>

#include "sdk/base/unique_fd.hpp"
#include "shim/sandbox_counters.hpp"

namespace harena::shim {
namespace {

/// Of <linux/sched.h> in the kernel: numbers that proc(5) hands out, and no header has.
constexpr unsigned long kExiting = 0x4, kForkNoExec = 0x40;

}  // namespace

std::optional<ProcessFlags> process_flags(int proc, pid_t pid) {
  const UniqueFd file(::openat(proc, (std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  const std::string text = read_small_file(file.get());
  const auto end = text.rfind(')');
  if (end == std::string::npos || end + 2 >= text.size()) return std::nullopt;
  // Fields behind the name: state, ppid, pgrp, session, tty, tpgid, flags.
  unsigned long flags = 0;
  if (std::sscanf(text.c_str() + end + 3, "%*d %*d %*d %*d %*d %lu", &flags) != 1) return std::nullopt;
  return ProcessFlags{text[end + 2], (flags & kExiting) != 0, (flags & kForkNoExec) != 0};
}

}  // namespace harena::shim
