#pragma once
// The link: records on one byte pipe between the host and the agent of a VM (a virtio-serial port), which survives that the pipe's far
// end is another VMM from one byte to the next. Pure: no I/O, no clock. Used by Tunnel (tunnel.hpp).
//
// A pipe that goes on in another VMM may have lost what was in flight and may deliver the rest of something old. So records are numbered
// and kept until the peer has acknowledged them, and the host can synchronise at any time:
//
//   host -> guest:  filler of a whole record, then SYNC {nonce, token, mode, records received}
//   guest -> host:  SYNC_OK {nonce, records received}; then both repeat what the other hasn't received, or begin anew
//
// The guest finds SYNC because whatever record was cut is completed by the filler, and then lacks its trailer. The host finds SYNC_OK by
// its nonce, which nobody in the guest could know before. The trailer of each record from the guest comes from the token: a record forged
// by somebody who doesn't know it is refused.
//
// Layout, little endian: u16 payload length, u8 type, u8 0, u32 stream, payload, u32 trailer. docs/session-protocol.md has the whole.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "sdk/base/random.hpp"
#include "sdk/base/result.hpp"

namespace harena::session {

inline constexpr std::size_t kMaxRecordBytes = 16 << 10;
inline constexpr std::size_t kRecordHeaderBytes = 8;
inline constexpr std::size_t kRecordTrailerBytes = 4;
/// Records that the peer hasn't acknowledged, together: above it nothing new is taken (Link::room()).
inline constexpr std::size_t kMaxUnackedBytes = 512 << 10;
/// The receiver acknowledges each time that it has taken so much; below it, nothing is sent for acknowledgement alone.
inline constexpr std::size_t kAckEveryBytes = 128 << 10;

enum class RecordType : std::uint8_t {
  open = 1,    // u8 StreamKind. Host only
  data = 2,    // 1 byte or more
  end = 3,     // no more data in this direction
  reset = 4,   // the stream is gone; payload: an error (hello.hpp, encode_error), may be empty
  window = 5,  // u32: credit
  ack = 0x80,  // u64: records received; the only type that isn't numbered itself
};

enum class Side { host, guest };
/// `go_on`: the same guest in another VMM, nothing is lost or repeated. `new_epoch`: a fresh boot, a clone, a restored snapshot: all
/// streams of before are gone.
enum class LinkStart : std::uint8_t { go_on = 0, new_epoch = 1 };

struct Record {
  RecordType type = RecordType::ack;
  std::uint32_t stream = 0;
  std::string_view payload;
};

/// What a link tells its owner, from within receive(). The owner may call the link from there.
class LinkEvents {
 public:
  virtual ~LinkEvents() = default;
  /// Exactly once and in the order sent. An error ends the link (host) or makes it wait for a SYNC (guest).
  virtual Status on_record(const Record& record) = 0;
  /// Both sides agree again. With new_epoch, what the link still held is dropped.
  virtual void on_synced(LinkStart start) = 0;
};

class Link {
 public:
  /// `events` must outlive the link.
  Link(Side side, LinkEvents& events) : side_(side), events_(events) {}

  /// Host only: begin to synchronise. To be called for each new pipe, also for the first (new_epoch). Until the guest answers,
  /// push() collects and output() has nothing but the SYNC.
  void start(LinkStart start, RandomSource& random);
  bool synced() const { return state_ == State::synced; }
  /// Why the link is of no use any more (host: the guest broke the rules). Nothing gets it going again but start().
  const Status& broken() const { return broken_; }

  /// Precondition: payload <= kMaxRecordBytes. Never refuses: bulk asks room() first.
  void push(RecordType type, std::uint32_t stream, std::string_view payload);
  /// Whether bulk data may be pushed: what isn't acknowledged is below kMaxUnackedBytes.
  bool room() const { return kept_bytes_ < kMaxUnackedBytes; }
  /// Bytes that are pushed and haven't been handed out by output().
  std::size_t waiting() const { return waiting_bytes_; }

  /// What to write to the pipe now; empty: nothing. Valid until the next call of anything.
  std::string_view output();
  /// The pipe took so many of output()'s bytes.
  void sent(std::size_t bytes);
  /// Bytes of the pipe, in pieces of any size. Never throws, whatever they are.
  void receive(std::string_view bytes);

 private:
  enum class State { unsynced, synced };
  using Nonce = std::array<char, 16>;

  std::size_t hunt(std::string_view bytes);
  std::size_t take_record(std::string_view bytes);
  Status deliver(const Record& record);
  Status take_ack(std::string_view payload);
  void answer_sync(std::string_view sync);
  void take_sync_ok(std::string_view answer);
  void resynchronised(LinkStart start, std::uint64_t peer_received);
  void lose_step(const std::string& why);
  void forget_epoch();
  void drop_acknowledged(std::uint64_t received);
  std::uint32_t trailer(Side sender) const;
  std::string_view key() const;

  const Side side_;
  LinkEvents& events_;
  State state_ = State::unsynced;
  LinkStart start_ = LinkStart::new_epoch;
  Status broken_;
  Nonce nonce_{};
  Nonce token_{};
  bool agreed_ = false;                // the epoch of token_ has begun on both sides

  std::deque<std::string> kept_;       // records not yet acknowledged, the oldest first
  std::uint64_t first_kept_ = 0;       // its number
  std::size_t next_ = 0;               // index in kept_ of the next one to hand out
  std::size_t kept_bytes_ = 0;
  std::size_t waiting_bytes_ = 0;
  std::string urgent_;                 // what goes before all records, at the border of one
  std::string current_;                // handed out by output()
  std::size_t current_sent_ = 0;

  std::string in_;
  std::uint64_t received_ = 0;         // records
  std::size_t unacked_in_bytes_ = 0;   // taken since our last ack
};

}  // namespace harena::session
