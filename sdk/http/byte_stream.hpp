#pragma once
// ByteStream: a duplex stream of bytes; what upgrades hand over, proxies forward and session clients speak on.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sdk/base/result.hpp"
#include "sdk/http/task.hpp"

namespace harena::http {

/// A stream lives on one executor (an IoThreads loop): every call is made by coroutines that run there. At most
/// one read and one write at a time; the two may overlap. Buffers must live until the call returns.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  /// 1 to into.size() bytes, or 0 when the peer has ended its direction. `into` must not be empty.
  /// Errors: unavailable (connection reset), cancelled, internal.
  virtual Task<Result<std::size_t>> read(std::span<std::byte> into) = 0;
  /// All bytes, accepted by the kernel (or the pipe) when it returns: this is the back-pressure.
  /// Errors: unavailable (peer gone), cancelled, internal. After an error the stream is of no further use.
  virtual Task<Status> write(std::span<const std::byte> bytes) = 0;
  /// The parts in order, in as few system calls as the stream can.
  virtual Task<Status> write_parts(std::span<const std::span<const std::byte>> parts);
  /// Ends our direction: the peer reads end of file; reading goes on. Idempotent.
  virtual Task<Status> shutdown_write() = 0;
  /// Drops both directions at once; pending calls end with an error. Idempotent.
  virtual void close() = 0;
  /// close() that tells the peer that something broke: a reset where the stream has one. What was written and not yet
  /// taken by the peer may be lost.
  virtual void abort() { close(); }
  /// Bytes written that the peer's kernel hasn't taken yet; 0 where nobody can tell.
  virtual std::size_t unsent() const { return 0; }
  /// The descriptor to poll for hang-up, borrowed; -1 if there is none.
  virtual int poll_fd() const { return -1; }
  /// Who is at the other end, for logs: "127.0.0.1:4711", "unix", "memory".
  virtual std::string peer() const { return "memory"; }

  Task<Status> write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
};

/// What was read ahead of `stream` comes first, then the stream itself.
std::unique_ptr<ByteStream> with_prefix(std::unique_ptr<ByteStream> stream, std::span<const std::byte> prefix);

/// Copies until end of file, then ends the writing side of `to`; bytes copied, or the first error.
Task<Result<std::uint64_t>> copy_until_eof(ByteStream& from, ByteStream& to);

/// Copies both ways until both directions have ended; an end in one direction is passed on and the other goes on
/// (half-close). A side that takes nothing any more ends that direction only: what it had still to say is passed on. A side that
/// breaks (reset) is passed on as a break, after what it had sent before. Both streams are closed at the end; the first
/// error is returned. Cancelled, it resets both. Memory: two blocks of 64 KiB.
Task<Status> pump(ByteStream& a, ByteStream& b);

}  // namespace harena::http
