#pragma once
// Flow control of a multiplexed channel (feature `multiplex`): on a channel that many operations share, a reader that is slow must not
// hold up the others, so each stream and direction has credit of its own. Pure bookkeeping; who sends and receives is elsewhere.
//
//   sender:    n = window.allow(wanted); send n bytes of raw payload; window.spend(n);   on `window`: window.grant(bytes)
//   receiver:  window.receive(frame.length);   once the bytes are used: if (auto more = window.consume(n)) send `window` {more}

#include <cstddef>
#include <cstdint>

#include "sdk/base/result.hpp"

namespace harena::session {

/// What either side may send on a stream, in each direction, before it is granted more: payload bytes of `data` and output frames.
inline constexpr std::uint64_t kInitialWindowBytes = 256 << 10;
/// More credit than this at once is a protocol error: nobody who counts right reaches it.
inline constexpr std::uint64_t kMaxWindowBytes = 1ull << 30;

class SendWindow {
 public:
  /// How many of `wanted` bytes may go now.
  std::size_t allow(std::size_t wanted) const;
  /// Precondition: bytes <= credit().
  void spend(std::size_t bytes) { credit_ -= bytes; }
  /// A `window` frame of the peer. invalid_argument for 0 bytes, and for a sum over kMaxWindowBytes.
  Status grant(std::uint64_t bytes);
  std::uint64_t credit() const { return credit_; }
  bool blocked() const { return credit_ == 0; }

 private:
  std::uint64_t credit_ = kInitialWindowBytes;
};

class ReceiveWindow {
 public:
  /// A raw frame came. invalid_argument when the peer hadn't the credit: the channel is to be closed.
  Status receive(std::size_t bytes);
  /// So many of the received bytes are used up. Returns what to grant with a `window` frame now; 0 while less than half of the window has
  /// come together, so that small reads don't cost a frame each. Precondition: no more than what was received.
  std::uint64_t consume(std::size_t bytes);

 private:
  std::uint64_t credit_ = kInitialWindowBytes;
  std::uint64_t used_ = 0;
};

/// The ids that a client opens streams with, as the endpoint checks them: odd, and each greater than all before.
class StreamIds {
 public:
  /// invalid_argument names the id and what would be right.
  Status open(std::uint32_t id);
  /// For the client: the next one. resource_exhausted when all are used: the channel is to be opened anew.
  Result<std::uint32_t> next();

 private:
  std::uint64_t next_ = 1;
};

}  // namespace harena::session
