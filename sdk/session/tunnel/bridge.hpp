#pragma once
// ChannelBridge: sockets on one side, the channel to (or from) a VM on the other.
//
// On the host it accepts connections on a listening Unix socket (the session endpoint that the edge connects to); each becomes a stream.
// In the guest each stream becomes a connection to the shim's socket. Neither edge nor shim know of it.
//
//   auto bridge = ChannelBridge::on_host(random);
//   bridge->replace_channel(std::move(socket_to_qemu), LinkStart::new_epoch);
//   bridge->ask(ConfigureRequest{...}, [](Result<std::string> answer) { auto ok = decode<ConfigureAnswer>(*answer); ... });
//   bridge->listen(std::move(session_socket));                    // once the guest is configured
//   loop: poll bridge->fd() for reading (it is an epoll); bridge->turn();
//
// One thread: all calls from the one whose loop it is. Nothing blocks. Callbacks come from within turn(), replace_channel() or the destructor;
// they may call the bridge, but not destroy it.
//
// When the same guest goes on in another VMM, replace_channel(fd, go_on): connections live on, nothing is lost or repeated. For a clone
// or a restored snapshot: new_epoch, all connections of before are closed and pending ask()s fail with `aborted`. Between two VMMs
// (paused) there may be no channel: close_channel(). Connections then wait.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sdk/base/random.hpp"
#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/session/fields.hpp"
#include "sdk/session/frame.hpp"
#include "sdk/session/tunnel/tunnel.hpp"

namespace harena::session {

/// The final frame of an agent's answer: the payload of `ok`, or the error.
using AgentReply = std::function<void(Result<std::string>)>;
/// Guest: called with each request; the reply may be given later, once, and is dropped when the stream is gone by then.
using AgentHandler = std::function<void(FrameType type, std::string payload, AgentReply reply)>;

class ChannelBridge {
 public:
  virtual ~ChannelBridge() = default;

  /// `random` must outlive it.
  static Result<std::unique_ptr<ChannelBridge>> on_host(RandomSource& random);
  /// `session_path`: the Unix socket that session streams are connected to; a stream that comes before something listens there is reset
  /// (unavailable). `channel`: a virtio port or a socket, any mode.
  static Result<std::unique_ptr<ChannelBridge>> in_guest(UniqueFd channel, std::string session_path, AgentHandler agent);

  /// An epoll descriptor, readable when turn() has something to do. Borrowed.
  virtual int fd() const = 0;
  /// Does what can be done without waiting. The error is what broke the channel for good (host: the guest broke the rules of the tunnel):
  /// connections have been closed, asks have failed; it stays so until replace_channel(). That the VMM closed the channel is no error.
  virtual Status turn() = 0;

  // Guest only.
  /// The host has connected anew (vsock: a snapshot resets all connections); the link finds itself again, as with any new far end.
  virtual void renew_channel(UniqueFd channel) = 0;

  // Host only.
  /// A connected stream socket to the VMM's character device.
  virtual void replace_channel(UniqueFd channel, LinkStart start) = 0;
  virtual void close_channel() = 0;
  virtual bool has_channel() const = 0;
  /// The guest has answered on this channel.
  virtual bool synced() const = 0;
  /// Accepts connections from now on, of peers of this process's user id only. A listening socket of before is closed.
  virtual void listen(UniqueFd listener) = 0;
  virtual void stop_listening() = 0;
  /// Connections that are open.
  virtual std::size_t connections() const = 0;

  /// Asks the guest's agent. Sent as soon as the guest answers; the reply comes exactly once: the answer, the agent's error, or `aborted`
  /// (new epoch), `unavailable` (broken, destroyed), `deadline_exceeded` after timeout_ms (0: never; the agent may still do it).
  /// The host's wall clock in a configure or renew (identity.wall_ns) is carried on while the request waits here for a guest that boots.
  virtual void ask(FrameType type, std::string payload, std::int64_t timeout_ms, AgentReply reply) = 0;
  template <class Request>
  void ask(const Request& request, std::int64_t timeout_ms, AgentReply reply) {
    ask(Request::kType, encode(request), timeout_ms, std::move(reply));
  }
};

}  // namespace harena::session
