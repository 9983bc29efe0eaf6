#pragma once
// What a command's process does between clone and exec, in the order that is right: cgroups before namespaces, then the identity
// inside the sandbox. It was born with the seccomp filter and no_new_privs (filter_key.hpp).

#include <string>

#include "sdk/session/command_messages.hpp"
#include "shim/sandbox.hpp"

namespace harena::shim {

/// Descriptors of the shim that become the child's stdio; unused with a PTY (which the child opens in the sandbox).
struct ChildStdio {
  /// -1: the sandbox's /dev/null.
  int in = -1;
  int out = -1;
  int err = -1;
};

/// Shell texts over this go through a memory file: one argument of execve(2) has at most 128 KiB (MAX_ARG_STRLEN).
inline constexpr std::size_t kMaxInlineShellBytes = 100 * 1024;
/// Where the shell finds it.
inline constexpr int kScriptFd = 9;

/// Returns only on failure, which it has reported. `mark`: see process_set.hpp; 0 for none. `key`: of the filter that the process has.
void run_command_child(const Sandbox& sandbox, const session::StartRequest& request, const ChildStdio& stdio,
                       int report_channel, std::uint64_t mark, const FilterKey& key);

}  // namespace harena::shim
