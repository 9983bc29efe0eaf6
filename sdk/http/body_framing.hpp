#pragma once
// Writing HTTP/1 messages: start lines, fields, and bodies with a length, chunked or until close. Internal to sdk/http.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sdk/http/byte_stream.hpp"
#include "sdk/http/headers.hpp"

namespace harena::http {

/// With the status's usual phrase when `reason` is empty.
void append_status_line(std::string& out, int status, std::string_view reason = {});
void append_request_line(std::string& out, std::string_view method, std::string_view target);
void append_field(std::string& out, std::string_view name, std::string_view value);
/// All fields but those that the framing itself writes (Content-Length, Transfer-Encoding). With `length` a Content-Length
/// that is among them keeps its place and spelling, with that value; true if there was one.
bool append_fields(std::string& out, const Headers& headers, std::optional<std::uint64_t> length = std::nullopt);

enum class BodyKind { none, length, chunked, until_close };

/// Writes a body piece by piece. Borrows the stream.
class BodyWriter {
 public:
  BodyWriter(ByteStream& stream, BodyKind kind, std::uint64_t length = 0)
      : stream_(stream), kind_(kind), left_(length) {}

  BodyKind kind() const { return kind_; }
  /// Returns when the stream has accepted all bytes. With `none` the bytes are dropped (HEAD). More bytes than
  /// announced: failed_precondition, nothing is written.
  Task<Status> write(std::span<const std::byte> bytes);
  /// The same with a message's head in front, in one piece.
  Task<Status> write_behind(std::string head, std::span<const std::byte> bytes);
  /// Trailers go only with `chunked`; elsewhere they are dropped. Fewer bytes than announced:
  /// failed_precondition, and the connection can only be closed.
  Task<Status> finish(const Headers& trailers);
  /// write() and finish() in one piece.
  Task<Status> finish_with(std::span<const std::byte> bytes);

 private:
  Status count(std::size_t bytes);
  Task<Status> write_framed(std::string head, std::span<const std::byte> bytes, std::string_view after);

  ByteStream& stream_;
  BodyKind kind_;
  std::uint64_t left_;
};

}  // namespace harena::http
