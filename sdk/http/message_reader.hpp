#pragma once
// Reads HTTP/1 messages from a ByteStream, one after the other. Internal to sdk/http.

#include <cstdint>
#include <optional>
#include <span>

#include "sdk/http/byte_stream.hpp"
#include "sdk/http/input_buffer.hpp"
#include "sdk/http/message_parser.hpp"

namespace harena::http {

template <bool kRequest>
class MessageReader {
 public:
  /// Borrows the stream.
  MessageReader(ByteStream& stream, const MessageLimits& limits);

  /// Waits until at least one byte of the next message is there; false at a clean end of the stream.
  Task<Result<bool>> wait_for_bytes();
  /// Reads start line and fields of the next message. Errors: invalid_argument and resource_exhausted with
  /// failure_status() set, unavailable when the stream ended inside it.
  /// `skip_body`: the message has no body whatever its fields say (an answer to HEAD).
  Task<Result<MessageHead>> read_head(bool skip_body = false);
  /// 1 to into.size() bytes of the body, 0 at its end. Errors as above.
  Task<Result<std::size_t>> read_body(std::span<std::byte> into);

  bool done() const { return !parser_ || parser_->is_done(); }
  /// Precondition for these: a head was read.
  bool keep_alive() const { return parser_->keep_alive(); }
  bool chunked() const { return parser_->chunked(); }
  std::optional<std::uint64_t> content_length() const;
  const Headers& trailers() const { return trailers_; }
  /// HTTP status that fits the last error; 0 if the stream itself failed.
  int failure_status() const { return failure_status_; }
  InputBuffer& buffer() { return buffer_; }

 private:
  Task<Result<std::size_t>> read_directly(std::span<std::byte> into);
  Result<bool> parse_some();
  Task<Result<bool>> fill();
  Status check(const boost::beast::error_code& code);
  Error stream_ended();
  Task<Status> skip_empty_lines();

  ByteStream& stream_;
  MessageLimits limits_;
  InputBuffer buffer_;
  MessageHead head_;
  Headers trailers_;
  std::optional<MessageParser<kRequest>> parser_;
  int failure_status_ = 0;
};

extern template class MessageReader<true>;
extern template class MessageReader<false>;

}  // namespace harena::http
