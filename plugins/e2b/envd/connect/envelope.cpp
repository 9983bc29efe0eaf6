#include "plugins/e2b/envd/connect/envelope.hpp"

namespace harena::e2b {

namespace {

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

}  // namespace

void append_envelope(std::string& out, std::uint8_t flags, std::string_view payload) {
  const auto length = static_cast<std::uint32_t>(payload.size());
  out.reserve(out.size() + kEnvelopeHeaderBytes + payload.size());
  out.push_back(static_cast<char>(flags));
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(length >> shift & 0xff));
  out.append(payload);
}

void EnvelopeReader::add(std::string_view bytes) {
  compact();
  buffer_.append(bytes);
}

void EnvelopeReader::compact() {
  if (offset_ == buffer_.size()) buffer_.clear();
  else if (offset_ > buffer_.size() / 2) buffer_.erase(0, offset_);
  else return;
  offset_ = 0;
}

Result<std::optional<Envelope>> EnvelopeReader::next() {
  const auto rest = std::string_view(buffer_).substr(offset_);
  if (rest.size() < kEnvelopeHeaderBytes) return std::optional<Envelope>();
  const auto flags = static_cast<std::uint8_t>(rest[0]);
  if ((flags & ~(kEnvelopeCompressed | kEnvelopeEnd)) != 0) {
    return make_error(ErrorCode::invalid_argument, "envelope with flags " + std::to_string(flags) +
                                                       "; 1 (compressed) and 2 (end of stream) are known");
  }
  const std::size_t length = big_endian(rest.substr(1, 4));
  if (length > max_bytes_) {
    return make_error(ErrorCode::resource_exhausted, "a message of " + std::to_string(length) + " bytes; at most " +
                                                         std::to_string(max_bytes_) + " are taken");
  }
  if (rest.size() - kEnvelopeHeaderBytes < length) return std::optional<Envelope>();
  Envelope envelope{flags, std::string(rest.substr(kEnvelopeHeaderBytes, length))};
  offset_ += kEnvelopeHeaderBytes + length;
  return std::optional<Envelope>(std::move(envelope));
}

}  // namespace harena::e2b
