#pragma once
// What the plugin and its launcher say to each other: packets (sdk/support/packets.hpp) on the launcher's descriptor 3.
//
// Every request brings as its first descriptor a socket of its own for the answer, so that answers need no numbers and
// a caller that gives up just closes its end.
//
// verb=hello   roots.N=PATH (folders that sandboxes and shims need)  work=PATH (an empty spot for the private tmpfs)
//              layer_mount=auto|loop          fds: reply, shim program, cgroup of the launcher
//                                                 [, folder of the trusted tools]
// verb=layer   digest=D                       fds: reply, image file; the answer has path=, where it is mounted
// verb=drop    digest=D                       fds: reply
// verb=create  (SandboxRequest)               fds: reply, v2 cgroup, shim's cgroup, listening socket, seccomp program,
//                                                  disk image or its mount (if disk=1), folders of the host (detached mounts)..., v1 tasks...
// verb=prepare (BlankRequest)                 fds: reply, v2 cgroup, shim's cgroup
//
// verb=root    (SandboxRequest) init_pid= init_start=   fds: reply[, disk image]   another root for a living sandbox (root_swap.hpp)
// verb=settle  init_pid= init_start=          fds: reply    ends what a killed verb=root left; answers upper=NAME, the one in use
//
// Answers: ok=1 with fields, or code= cause= part= message=. create answers twice: first {ok, init_pid, init_start, shim_pid,
// shim_start, stages}, then, from the shim itself, any packet once it listens; the end of the socket in between is a failure.
//
// prepare makes a *blank*: all of a sandbox that is the same for every one, and if asked for a root on the layers that are probably wanted. It answers ok=1 and then waits on the reply socket itself for
//
// verb=fill    (SandboxRequest, layer_paths)  fds: listening socket, seccomp program, disk image (if disk=1), folders of the host...,
//                                                  v1 tasks...
//
// whose answers are those of create. A blank whose socket is closed before ends, and nothing of it stays but its cgroups.

#include <string>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/support/packets.hpp"

namespace harena::container {

inline constexpr int kControlFd = 3;
/// Where every distribution mounts it.
inline constexpr const char* kLxcfsFolder = "/var/lib/lxcfs";

/// What a sandbox is built on, before anybody knows which one it becomes.
struct BlankRequest {
  std::uint32_t first_id = 0;
  std::int64_t shm_bytes = 0;
  /// Files of lxcfs to put over their namesakes: "proc/meminfo" below kLxcfsFolder.
  std::vector<std::string> lxcfs;
  /// Which mount of lxcfs is meant: for the plugin's end, which starts the launcher anew after a restart of lxcfs. Not sent.
  std::uint64_t lxcfs_mount = 0;
  /// A folder with u and w, for a root that is made in advance; empty: none is.
  std::string stage;
  /// Where the launcher has its layers, lowest first.
  std::vector<std::string> stage_paths;
  /// As many CPUs are shown inside (cpu_views.hpp); 0: the machine's. A blank that shows some can be told to show others.
  int cpus = 0;

  Fields encode() const;
  static Result<BlankRequest> decode(const Fields& fields);
};

/// What the launcher needs to make one sandbox.
struct SandboxRequest : BlankRequest {
  std::string id;
  /// Holds u (upper), w (work) and session (the shim's run dir), all made by the plugin; without u and w if there is a disk.
  std::string state_dir;
  std::vector<std::string> layers;  // digests, lowest first
  /// Folders above the image's layers, lowest first, each written by a sandbox with the range FIRST_ID: "FIRST_ID=PATH".
  std::vector<std::string> frozen;
  /// Names below state_dir (or on the disk).
  std::string upper = "u";
  std::string work = "w";
  /// Where the launcher has them, in the same order; of fill alone.
  std::vector<std::string> layer_paths;
  std::string hostname;
  /// Sized tmpfs: "PATH=BYTES".
  std::vector<std::string> tmpfs;
  /// Where the folders of the host go, in the order of their descriptors.
  std::vector<std::string> mount_targets;
  bool readonly_rootfs = false;
  /// The upper is on a file system of its own, whose image is a descriptor of the request.
  bool disk = false;
  /// The root is the one that the blank has; its u and w are in state_dir by now.
  bool staged = false;
  /// Of every command: "nofile=65536", "core=0", "fsize=4096".
  std::vector<std::string> rlimits;
  std::uint64_t capabilities = 0;
  std::string apparmor;  // profile of commands; empty: none
  std::vector<std::string> environment;  // K=V

  Fields encode() const;
  static Result<SandboxRequest> decode(const Fields& fields);
};

Fields encode_error(const Error& error);
/// Ok fields as they are; an error answer as an Error.
Result<Fields> decode_answer(std::string_view bytes);

}  // namespace harena::container
