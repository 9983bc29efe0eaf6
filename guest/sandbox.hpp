#pragma once
// The one sandbox of this guest: configured once, frozen and thawed, renewed, ended.

#include <optional>
#include <string>
#include <vector>

#include "guest/freezer.hpp"
#include "guest/sandbox_builder.hpp"
#include "sdk/base/result.hpp"
#include "sdk/session/tunnel/agent_messages.hpp"

namespace harena::guest {

/// How long the way to here took: kernel start to PID 1, PID 1 to the open channel.
struct BootTimes {
  std::uint64_t kernel_us = 0;
  std::uint64_t agent_us = 0;
};

class Sandbox {
 public:
  explicit Sandbox(BootTimes boot) : boot_(boot) {}
  Result<session::ConfigureAnswer> configure(const session::ConfigureRequest& request);
  Status freeze(const session::FreezeRequest& request);
  Status thaw();
  Result<session::RenewAnswer> renew(const session::RenewRequest& request);
  Result<session::MetricsAnswer> metrics() const;
  /// Asks the shim to end everything: SIGTERM, and SIGKILL after the grace. The agent sees the shim's end by SIGCHLD.
  Status shut_down(std::uint32_t grace_ms);
  /// A child of the agent has ended; true when that was the shim: the sandbox is over.
  bool on_child_end(pid_t pid);
  bool configured() const { return running_.has_value(); }
  bool ended() const { return ended_; }
  session::WaitAnswer end() const;

 private:
  Status must_run() const;
  Result<session::ConfigureAnswer> build(const session::ConfigureRequest& request);

  const BootTimes boot_;
  std::optional<session::ConfigureRequest> configured_;
  std::optional<session::ConfigureAnswer> answer_;
  std::optional<RunningSandbox> running_;
  UniqueFd group_;
  Freezer freezer_;
  bool ended_ = false;
};

/// What harena-shim left in exit.json (shim/README.md); cause "shim" for text that isn't one.
session::WaitAnswer parse_end_record(const std::string& json);

}  // namespace harena::guest
