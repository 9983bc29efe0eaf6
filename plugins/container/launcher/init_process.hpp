#pragma once
// The sandbox's PID 1: our own code, not a program of the image, and never anything that the image could replace.
//
// It builds the sandbox around itself (first what every sandbox has, then what this one asked for), gives up everything, and then only
// reaps orphans. Nobody inside can end it (PID 1 gets no signal from its own namespace that it has no handler for), stop it, trace it or
// read its memory (not dumpable, and its memory belongs to the host's user namespace). It dies with the shim.

#include <span>
#include <string>

#include <linux/filter.h>

#include "plugins/container/launcher/overlay_root.hpp"
#include "plugins/container/launcher/protocol.hpp"
#include "sdk/support/namespace_holder.hpp"

namespace harena::container {

struct InitContext {
  const BlankRequest& blank;
  const NamespaceHolder& namespaces;
  std::string spot;                    // a folder of the seed namespace to mount on
  /// It says "ok=1" here when it is prepared, then gets one packet: the SandboxRequest with, as descriptors, the layers (lowest first), the
  /// mount with u and w (neither where request.staged), the folders of the host, the v1 tasks; then it says "ok=1" again. Or an error, and ends.
  int status_socket;
  int builders_socket;                 // the other end, inherited; closed at once
  std::span<const sock_filter> filter; // what the init may still call once it is set up
  int tools_mount;                     // detached; -1: none
  const RootParts& staged;             // of a root that is made in advance; without layers: none is
};

/// Runs in the child made by clone3(CLONE_NEWPID | CLONE_NEWNS), with the host's privileges. Never returns.
[[noreturn]] void run_init(const InitContext& context);

/// Remembers where argv is, so that init can show a name of its own in /proc/1/cmdline.
void remember_arguments(int argc, char** argv);

}  // namespace harena::container
