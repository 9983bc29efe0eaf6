#pragma once
// One connection to a session endpoint: frames on a ByteStream.

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sdk/base/unique_fd.hpp"
#include "sdk/http/byte_stream.hpp"
#include "sdk/session/fields.hpp"
#include "sdk/session/hello.hpp"

namespace harena::session {

using http::Task;

struct ReceivedFrame {
  FrameType type = FrameType::ping;
  std::string payload;
  /// The payload goes on behind that of the frame received before: a raw frame (data, output) is handed over in parts of at most
  /// Channel::kPartBytes, so that a reader who waits doesn't wait with a megabyte in its hands.
  bool continued = false;
};

/// The connection ended, instead of an answer.
inline bool is_lost(const Error& error) { return error.code == ErrorCode::unavailable && error.cause_detail == "session"; }

/// Lives on its stream's executor. One receive and one send at a time; they may overlap.
class Channel {
 public:
  static constexpr std::size_t kPartBytes = 64 << 10;

  /// `hello` goes out with the first frame; the answer is looked at with the first one received.
  explicit Channel(std::unique_ptr<http::ByteStream> stream) : stream_(std::move(stream)) {}

  Task<Status> send(FrameType type, std::string_view payload);
  template <class T>
  Task<Status> send_message(FrameType type, const T& message) {
    std::string payload = encode(message);
    co_return co_await send(type, payload);
  }
  /// A raw frame (data) whose payload isn't copied on its way.
  Task<Status> send_raw(FrameType type, std::string_view payload);
  /// Bytes of `data` frames, straight into `into`, across their borders; 0: another frame is next, for receive().
  Task<Result<std::size_t>> receive_data(std::span<std::byte> into);
  /// unimplemented, naming the feature, when the endpoint doesn't offer it. Waits for hello_ok, so: between operations only.
  Task<Status> require(std::string_view feature);
  /// The next frame; continued messages whole; those that may be ignored and pings are skipped. An `error` frame of the
  /// endpoint is returned as its Error and ends the operation. unavailable (infrastructure) when the endpoint is gone.
  Task<Result<ReceivedFrame>> receive();
  /// The final frame of a request without anything in between: its payload.
  Task<Result<std::string>> receive_ok();
  /// The same, with the descriptor that comes along (dial). None, from an endpoint that passes none (no feature dial-fd): then the bytes
  /// follow on this channel, and it is of no other use.
  Task<Result<UniqueFd>> receive_ok_with_fd();

  /// Idle and its peer still there: may serve the next operation.
  bool reusable() const;
  /// An operation ended on it before: the peer may have closed it since, and that is found out by using it.
  bool has_served() const { return greeted_; }
  /// For a transfer in bulk: the kernel's buffer for what is sent; quietly less where that isn't granted.
  void widen();
  /// Between operations: no request without its final frame.
  bool idle() const { return idle_; }
  void close() { stream_->close(); }
  const HelloOk& peer() const { return peer_; }

 private:
  static constexpr std::size_t kIdleRoomBytes = 1 << 10;
  Task<Status> greet();
  Task<Result<ReceivedFrame>> receive_raw();
  Task<Result<ReceivedFrame>> receive_part(FrameType type);
  Task<Status> fill(std::size_t bytes);
  Task<Status> fill_with_fd(std::size_t bytes, UniqueFd& fd);
  Status take_hello(const ReceivedFrame& frame);

  std::unique_ptr<http::ByteStream> stream_;
  std::string in_;
  std::size_t used_ = 0;
  /// Room that the next read gets: little while nothing comes, so that thousands may wait.
  std::size_t room_ = kIdleRoomBytes;
  /// What is left of the raw frame that is being handed over.
  std::size_t rest_ = 0;
  FrameType rest_type_ = FrameType::ping;
  MessageAssembler assembler_;
  HelloOk peer_;
  bool said_hello_ = false;
  bool greeted_ = false;
  bool idle_ = true;
};

}  // namespace harena::session
