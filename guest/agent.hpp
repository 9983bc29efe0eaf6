#pragma once
// The agent: serves the channel, answers the host's questions, reaps, and turns the machine off at the end. One thread.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "guest/channel_port.hpp"
#include "guest/sandbox.hpp"
#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/session/tunnel/bridge.hpp"

namespace harena::guest {

class Agent {
 public:
  /// The way to the host; see open_channel().
  static Result<std::unique_ptr<Agent>> create(Channel channel, BootTimes boot);
  /// Returns when the machine is to be turned off.
  void run();

 private:
  explicit Agent(BootTimes boot) : sandbox_(boot) {}
  Status watch_children();
  void on_request(session::FrameType type, const std::string& payload, session::AgentReply reply);
  void on_children();
  void power_off(const session::PowerOffRequest& request, const session::AgentReply& reply);
  void leave_soon(std::int64_t ms);

  UniqueFd listener_;
  UniqueFd signals_;
  UniqueFd timer_;
  Sandbox sandbox_;
  std::vector<session::AgentReply> waiters_;
  std::unique_ptr<session::ChannelBridge> bridge_;
  bool leaving_ = false;
  bool done_ = false;
};

}  // namespace harena::guest
