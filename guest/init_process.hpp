#pragma once
// The sandbox's own PID 1: code of the agent, in the sandbox's namespaces, with nothing left but to reap.
//
// It builds the sandbox's tree around itself and gives everything up. Nobody inside can end it (PID 1 of a pid namespace gets no signal
// from there that it has no handler for), stop, trace or read it (not dumpable, and a user that has no number inside). It dies with the shim.

#include <linux/filter.h>

#include <span>

#include "sdk/session/tunnel/agent_messages.hpp"
#include "sdk/support/namespace_holder.hpp"

namespace harena::guest {

struct InitContext {
  const session::ConfigureRequest& request;
  const NamespaceHolder& namespaces;
  int root;                             // detached overlay
  int report;                           // "ok" or "E" + error goes here
  std::span<const sock_filter> filter;  // what it may still call once it is set up
};

/// In the child made with new pid and mount namespaces. Never returns.
[[noreturn]] void run_init(const InitContext& context);

}  // namespace harena::guest
