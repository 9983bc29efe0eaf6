#pragma once
// What is at the end of a stream outside of the tunnel: a socket, an ask of the host, a call of the guest's agent. Inside of the bridge.

#include <sys/epoll.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "sdk/base/unique_fd.hpp"
#include "sdk/session/tunnel/bridge.hpp"

namespace harena::session {

/// What a peer may ask of the bridge.
class PeerHost {
 public:
  virtual ~PeerHost() = default;
  virtual Tunnel& tunnel() = 0;
  /// epoll_ctl for the peer's descriptor; events 0 keeps it registered for errors only.
  virtual void watch(StreamId stream, int fd, std::uint32_t events, bool first) = 0;
  virtual void unwatch(int fd) = 0;
  /// Destroys the peer at the end of this turn; it gets no more calls.
  virtual void drop(StreamId stream) = 0;
  /// At the end of this turn, or in the next one when none is running.
  virtual void defer(std::function<void()> action) = 0;
};

class Peer {
 public:
  Peer(PeerHost& host, StreamId stream) : host_(host), stream_(stream) {}
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  virtual ~Peer() = default;
  virtual void on_data(std::string_view bytes) = 0;
  virtual void on_end() = 0;
  virtual void on_reset(const Error& why) = 0;
  virtual void on_writable() = 0;
  virtual void on_events(std::uint32_t) {}

 protected:
  PeerHost& host_;
  const StreamId stream_;
};

/// What it means that a socket has been closed in both directions while not all of what it sent has been taken: a client that leaves
/// cancels what it asked for; what an endpoint answered before it left is delivered.
enum class HangUp { cancels, delivers };

/// Bytes between a connected, non-blocking socket and a stream.
class SocketPeer final : public Peer {
 public:
  SocketPeer(PeerHost& host, StreamId stream, UniqueFd socket, HangUp hang_up);
  void on_data(std::string_view bytes) override;
  void on_end() override;
  void on_reset(const Error& why) override;
  void on_writable() override;
  void on_events(std::uint32_t events) override;

 private:
  void read_some();
  bool write_some(std::string_view bytes, std::size_t& written);
  void flush();
  void after_flush();
  void update();
  void gone();
  void give_up();

  UniqueFd socket_;
  const HangUp hang_up_;
  bool watched_ = true;
  std::string out_;
  std::size_t out_sent_ = 0;
  std::uint32_t events_ = EPOLLIN;
  bool no_room_ = false;
  bool read_done_ = false;
  bool end_received_ = false;
  bool write_done_ = false;
  bool discard_ = false;
};

/// One message each way, on a stream of kind agent.
class MessagePeer : public Peer {
 public:
  using Peer::Peer;
  void on_data(std::string_view bytes) final;
  void on_end() override;
  void on_writable() final;

 protected:
  /// Sends all of it and then the end.
  void send_message(std::string bytes);
  virtual void on_message(FrameType type, std::string payload) = 0;
  /// All of send_message() is on its way.
  virtual void on_sent() {}
  /// The peer sent what isn't a message.
  virtual void on_nonsense(const Error& why) = 0;

 private:
  void take_frames();
  std::string in_;
  std::string out_;
  bool complete_ = false;
  MessageAssembler assembler_;
};

/// The host's end: sends the request, gives the answer on.
class AskPeer final : public MessagePeer {
 public:
  /// Nothing is sent before begin(). `asked_ns`: CLOCK_MONOTONIC.
  AskPeer(PeerHost& host, StreamId stream, FrameType type, std::string payload, std::int64_t asked_ns, AgentReply reply);
  ~AskPeer() override;
  void on_end() override;
  void on_reset(const Error& why) override;
  void fail(const Error& why);
  /// Once the guest is there; again does nothing.
  void begin(std::int64_t now_ns);

 private:
  void on_message(FrameType type, std::string payload) override;
  void on_nonsense(const Error& why) override;
  void answer(Result<std::string> result);
  const FrameType type_;
  std::string payload_;
  bool begun_ = false;
  const std::int64_t asked_ns_;
  AgentReply reply_;
};

/// The guest's end: gives the request to the agent, sends its answer.
class CallPeer final : public MessagePeer {
 public:
  using Handler = std::function<void(FrameType, std::string)>;
  CallPeer(PeerHost& host, StreamId stream, Handler handler) : MessagePeer(host, stream), handler_(std::move(handler)) {}
  void on_reset(const Error& why) override;
  void reply(const Result<std::string>& result);

 private:
  /// Nothing comes after the answer; and a clone's host, which counts its streams from the beginning, may use the number again.
  void on_sent() override { host_.drop(stream_); }
  void on_message(FrameType type, std::string payload) override;
  void on_nonsense(const Error& why) override;
  Handler handler_;
};

}  // namespace harena::session
