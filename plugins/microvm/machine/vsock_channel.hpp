#pragma once
// VsockChannel: a connection from the host to a port of the guest through Firecracker's Unix socket ("CONNECT port\n" is answered with
// "OK number\n" once the guest has accepted), made again whenever it ends: a guest that still boots accepts nothing, and a snapshot
// resets all connections of the machine that goes on, and of those that start from it.

#include <cstdint>
#include <functional>
#include <string>

#include "plugins/microvm/machine/ticker.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::microvm {

/// Where harena-guest listens: below 1024, which needs a capability that nothing of a sandbox has.
inline constexpr std::uint32_t kGuestPort = 1021;

class VsockChannel {
 public:
  /// `folder` holds Firecracker's socket `name`.
  VsockChannel(vmm::EventLoop& loop, UniqueFd folder, std::string name, std::uint32_t port)
      : loop_(loop), folder_(std::move(folder)), name_(std::move(name)), port_(port), ticker_(loop) {}
  ~VsockChannel();
  VsockChannel(const VsockChannel&) = delete;
  VsockChannel& operator=(const VsockChannel&) = delete;

  /// From now on; `handler` gets each connection that the guest has accepted, from the loop.
  Status start(std::function<void(UniqueFd)> handler);

 private:
  void try_again();
  void connect();
  void read_answer();
  void drop();
  void deliver();

  vmm::EventLoop& loop_;
  UniqueFd folder_;
  std::string name_;
  std::uint32_t port_;
  Ticker ticker_;
  std::function<void(UniqueFd)> handler_;
  UniqueFd socket_;   // asks for a connection
  std::string answer_;
  int ticks_ = 0;     // since it asked
  UniqueFd watched_;  // the one that was given away: a duplicate, to see its end
};

}  // namespace harena::microvm
