#pragma once
// The tunnel: many connections over one link to the agent of a VM. Each has credit of its own in both directions, so that one whose reader
// is slow never holds up another; each can be closed by halves, or reset. Pure: no I/O, no clock, no threads. ChannelBridge (bridge.hpp)
// puts sockets to it.
//
//   host:   auto id = tunnel.open(StreamKind::session);  tunnel.send(*id, bytes);  tunnel.end(*id);
//   both:   tunnel.receive(bytes of the channel);  write(tunnel.output());  tunnel.sent(n);
//   owner:  TunnelEvents::on_data -> use the bytes -> tunnel.consumed(id, n), which gives the peer credit again
//
// Only the host opens streams. What a guest sends on a stream that isn't there (any more) is dropped; what breaks the rules
// (more than its credit, an unknown record) ends the link: Tunnel::broken().

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/session/flow_control.hpp"
#include "sdk/session/tunnel/link.hpp"

namespace harena::session {

using StreamId = std::uint32_t;

enum class StreamKind : std::uint8_t {
  session = 1,  // a connection to the session endpoint of the guest
  agent = 2,    // one request to the agent itself and its answer (agent_messages.hpp)
};

/// Open at once: more are refused with resource_exhausted. Each may hold kInitialWindowBytes in either direction.
inline constexpr std::size_t kMaxStreams = 4096;
/// What send() keeps of one stream beyond what is on its way.
inline constexpr std::size_t kStreamBufferBytes = 64 << 10;

/// Called from within Tunnel::receive(), start() and tell_writable(). The tunnel may be called from there, but not start() or receive().
class TunnelEvents {
 public:
  virtual ~TunnelEvents() = default;
  /// Guest only.
  virtual void on_open(StreamId stream, StreamKind kind) = 0;
  virtual void on_data(StreamId stream, std::string_view bytes) = 0;
  /// The peer sends no more on it.
  virtual void on_end(StreamId stream) = 0;
  /// The stream is gone: reset by the peer (with its reason), or by a new epoch or a broken link.
  virtual void on_reset(StreamId stream, const Error& why) = 0;
  /// send() takes bytes again.
  virtual void on_writable(StreamId stream) = 0;
  virtual void on_synced(LinkStart start) = 0;
};

class Tunnel final : private LinkEvents {
 public:
  Tunnel(Side side, TunnelEvents& events) : side_(side), events_(events), link_(side, *this) {}

  // The channel.
  /// Host only, for each new channel. With new_epoch all streams that are open are reset at once, before anything else happens.
  void start(LinkStart start, RandomSource& random);
  void receive(std::string_view bytes);
  std::string_view output();
  void sent(std::size_t bytes) { link_.sent(bytes); }
  /// on_writable for all that output() made room for. Apart from output(), whose bytes a call back must not change.
  void tell_writable();
  bool synced() const { return link_.synced(); }
  const Status& broken() const { return link_.broken(); }

  // Streams. Calls with an id that is gone do nothing.
  /// Host only; may be called before the first synchronisation. resource_exhausted over kMaxStreams.
  Result<StreamId> open(StreamKind kind);
  /// Takes what there is room for and returns how much; 0: wait for on_writable.
  std::size_t send(StreamId stream, std::string_view bytes);
  /// How much send() would take now; after 0, on_writable tells of room.
  std::size_t room(StreamId stream);
  /// No more from this side; what was sent before still arrives.
  void end(StreamId stream);
  /// Drops the stream, both directions, and what it held.
  void reset(StreamId stream, const Error& why);
  /// The owner has used so many bytes of on_data.
  void consumed(StreamId stream, std::size_t bytes);
  std::size_t streams() const { return streams_.size(); }

 private:
  struct Stream {
    StreamKind kind = StreamKind::session;
    SendWindow out;
    ReceiveWindow in;
    std::string buffer;
    bool blocked = false;      // send() took less than all
    bool end_wanted = false;
    bool end_sent = false;
    bool end_received = false;
  };

  Status on_record(const Record& record) override;
  void on_synced(LinkStart start) override;
  Status on_open(const Record& record);
  Status on_data(StreamId id, Stream& stream, std::string_view bytes);
  Status on_end(StreamId id, Stream& stream);
  Status on_window(StreamId id, Stream& stream, std::string_view payload);
  void fill();
  bool send_some(StreamId id, Stream& stream);
  void send_end(StreamId id, Stream& stream);
  void finish_if_done(StreamId id);
  void reset_all(const Error& why);
  StreamId next_id();

  const Side side_;
  TunnelEvents& events_;
  Link link_;
  std::map<StreamId, Stream> streams_;
  std::set<StreamId> ready_;   // have something to send and credit for it
  StreamId last_served_ = 0;   // round robin
  StreamId last_opened_ = 0;
  std::vector<StreamId> writable_;
  bool started_ = false;
};

}  // namespace harena::session
