#pragma once
// The worker's side of the lent socket: blocking frames on a descriptor that is non-blocking (the flag is the shim's too).

#include <string>
#include <string_view>

#include "sdk/session/fields.hpp"
#include "sdk/session/frame.hpp"

namespace harena::shim {

class WorkerChannel {
 public:
  /// `leftovers`: the line on which the shim is told of temporary names (leftovers.hpp); -1: nobody listens.
  WorkerChannel(int socket, std::string rest, int leftovers = -1) : socket_(socket), leftovers_(leftovers), rest_(std::move(rest)) {}

  /// false: the client has left.
  bool send(session::FrameType type, std::string_view payload);
  template <class T>
  bool send_message(session::FrameType type, const T& message) {
    return send(type, session::encode(message));
  }
  /// Frames that the caller has put together.
  bool send_frames(std::string_view frames) { return write_all(frames); }
  /// A data frame whose bytes come from a file; fewer than asked when the file got shorter is an error (false).
  bool send_file(int file, std::uint64_t offset, std::size_t length);

  struct Frame {
    session::FrameHeader header;
    std::string payload;
  };
  /// unavailable when the client has left, invalid_argument for a malformed frame. Never reads past the frame.
  Result<Frame> receive();
  /// The same into a frame that is used again and again: its memory is, too.
  Status receive_into(Frame& frame);
  int leftovers() const { return leftovers_; }
  /// Waits until `other` can be read, or the client has left.
  enum class Wait { readable, timeout, left };
  /// `timeout_ms` -1: none.
  Wait wait_for(int other, int timeout_ms) const;
  /// A frame was begun and not completed: no other may follow.
  bool broken() const { return broken_; }

 private:
  bool wait(short events) const;
  bool write_all(std::string_view bytes);
  bool read_exactly(char* to, std::size_t bytes);

  int socket_;
  int leftovers_;
  std::string rest_;
  bool broken_ = false;
};

}  // namespace harena::shim
