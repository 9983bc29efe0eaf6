#pragma once
// Envelopes of the Connect protocol's streams: one byte of flags, four of length (big endian), the payload.
//
//   EnvelopeReader reader;
//   reader.add(bytes);
//   HARENA_TRY(auto next, reader.next());      // nullopt: more bytes are needed

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sdk/base/result.hpp"

namespace harena::e2b {

inline constexpr std::uint8_t kEnvelopeCompressed = 1;
inline constexpr std::uint8_t kEnvelopeEnd = 2;
inline constexpr std::size_t kEnvelopeHeaderBytes = 5;
/// Of one message, compressed or not. A client's largest is a piece of stdin.
inline constexpr std::size_t kMaxMessageBytes = 64 << 20;

struct Envelope {
  std::uint8_t flags = 0;
  std::string payload;
  bool compressed() const { return (flags & kEnvelopeCompressed) != 0; }
  bool end() const { return (flags & kEnvelopeEnd) != 0; }
  bool operator==(const Envelope&) const = default;
};

/// Appends header and payload. Precondition: payload of at most 2^32 - 1 bytes.
void append_envelope(std::string& out, std::uint8_t flags, std::string_view payload);

/// Cuts bytes, added in pieces of any size, into envelopes. After an error it is of no further use.
class EnvelopeReader {
 public:
  explicit EnvelopeReader(std::size_t max_bytes = kMaxMessageBytes) : max_bytes_(max_bytes) {}
  void add(std::string_view bytes);
  /// The next whole envelope; nullopt when more bytes are needed. invalid_argument for unknown flags,
  /// resource_exhausted for a length over the bound: before anything of that length is held.
  Result<std::optional<Envelope>> next();
  /// No byte waits: what ends here ends between two envelopes.
  bool empty() const { return offset_ == buffer_.size(); }

 private:
  void compact();
  std::size_t max_bytes_;
  std::string buffer_;
  std::size_t offset_ = 0;
};

}  // namespace harena::e2b
