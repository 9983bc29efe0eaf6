#pragma once
// The walls of a VMM's process, beside QEMU's own seccomp filter: a root of its own with only what it uses, namespaces, a user without
// rights. Called in the child between fork(2) and exec(2): nothing of it is seen by anybody else, and it goes with the process.

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/base/result.hpp"

namespace harena::vmm {

struct JailFile {
  std::string from, to;  // paths of the host, and in the jail (/name)
  bool writable = false;
  bool executable = false;  // also to be mapped as a library
};

struct JailSpec {
  std::string root_dir;  // an empty folder: the root is mounted over it, in a mount namespace of its own
  std::string program;
  std::vector<std::string> folders;  // bound read-only under their own names, where the host has them; also single files
  std::vector<JailFile> files;
  std::vector<std::string> devices;  // names in /dev beside null, zero, random, urandom
  std::uint32_t uid = 0;
  /// Files that a process writes "0" into to join its cgroups; borrowed.
  std::vector<int> group_files;
  std::string preload;  // a library, by its name in the jail, that is loaded into the program before all others; empty: none
};

/// Libraries and data files of QEMU.
std::vector<std::string> qemu_folders();

/// New mount, network, IPC and UTS namespaces, and the root. Its umask is 022 from here on.
Status enter_jail(const JailSpec& spec);
/// Joins the groups, becomes the user (no groups, no capabilities, no_new_privs) and asks to be killed when `parent` ends. Last.
Status drop_rights(const JailSpec& spec, pid_t parent);

/// Descriptors that are passed become these numbers, in order.
inline constexpr int kFirstPassedFd = 3;
/// The most that fit below the place where they are put aside meanwhile.
inline constexpr std::size_t kMostPassedFds = 397;
/// What a child of fork(2) becomes.
struct JailedProgram {
  const JailSpec& jail;
  const std::vector<std::string>& arguments;  // without the program
  const std::vector<int>& passed;             // borrowed
  int null = -1, log = -1;                    // become 0, and 1 and 2
  pid_t parent = -1;
};
/// Never returns: a failure is written to the log, and the status is 127. The caller was single-threaded, so the child may use the heap.
[[noreturn]] void exec_in_jail(const JailedProgram& program);

}  // namespace harena::vmm
