#pragma once
// The sandbox's PID 1: our own code, not a program of the image, and never anything that the image could replace.
//
// It builds the sandbox around itself, gives up everything, and then only reaps orphans. Nobody inside can end it (PID 1
// gets no signal from its own namespace that it has no handler for), stop it, trace it or read its memory (not dumpable, and its
// memory belongs to the host's user namespace). It dies with the shim.

#include <span>
#include <string>

#include <linux/filter.h>

#include "plugins/container/launcher/protocol.hpp"
#include "sdk/support/namespace_holder.hpp"

namespace harena::container {

struct InitContext {
  const SandboxRequest& request;
  const NamespaceHolder& namespaces;
  int root_mount;                      // detached
  std::string spot;                    // a folder of the seed namespace to mount on
  std::span<const int> v1_tasks;       // descriptors of tasks files
  int status_socket;                   // "ok=1" or an error goes here
  std::span<const sock_filter> filter; // what the init may still call once it is set up
  int tools_mount;                     // detached; -1: none
  std::span<const int> host_mounts;    // detached, in the order of the request's mount_targets
};

/// Runs in the child made by clone3(CLONE_NEWPID | CLONE_NEWNS), with the host's privileges. Never returns.
[[noreturn]] void run_init(const InitContext& context);

/// The program for InitContext::filter: waiting, exiting, one last packet.
Result<std::vector<sock_filter>> init_filter();

/// Remembers where argv is, so that init can show a name of its own in /proc/1/cmdline.
void remember_arguments(int argc, char** argv);

}  // namespace harena::container
