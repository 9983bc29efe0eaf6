#include "sdk/http/message_parser.hpp"

#include <boost/beast/http/error.hpp>

#include <algorithm>
#include <cstring>
#include <limits>

namespace harena::http {
namespace beast_http = boost::beast::http;

template <bool kRequest>
MessageParser<kRequest>::MessageParser(const MessageLimits& limits, MessageHead& head, Headers& trailers)
    : limits_(limits), head_(head), trailers_(trailers) {
  this->header_limit(static_cast<std::uint32_t>(limits.header_bytes));
  this->body_limit(boost::none);  // the reader of the body has its own
  this->eager(false);
}

template <bool kRequest>
std::uint64_t MessageParser<kRequest>::contiguous() const {
  if (!this->is_header_done() || this->is_done()) return 0;
  if (this->chunked()) return chunk_left_;
  if (const auto left = this->content_length_remaining()) return *left;
  return std::numeric_limits<std::uint64_t>::max();
}

template <bool kRequest>
std::size_t MessageParser<kRequest>::put_bytes(std::span<const std::byte> bytes, ErrorCodeType& code) {
  fed_ = bytes;
  return this->put(boost::asio::const_buffer(bytes.data(), bytes.size()), code);
}

template <bool kRequest>
int MessageParser<kRequest>::failure_status(const ErrorCodeType& code) const {
  if (refused_status_ != 0) return refused_status_;
  if (code == beast_http::error::header_limit) return 431;
  if (code == beast_http::error::bad_version) return 505;
  return 400;
}

template <bool kRequest>
std::string MessageParser<kRequest>::failure_message(const ErrorCodeType& code) const {
  if (refused_status_ != 0) return refused_message_;
  if (code == beast_http::error::header_limit) {
    return "the header is larger than " + std::to_string(limits_.header_bytes) + " bytes";
  }
  return "malformed HTTP message: " + code.message();
}

template <bool kRequest>
void MessageParser<kRequest>::on_request_impl(beast_http::verb, View method, View target, int version,
                                              ErrorCodeType&) {
  head_.method = method;
  head_.target = target;
  head_.version = version;
  bytes_ += method.size() + target.size();
}

template <bool kRequest>
void MessageParser<kRequest>::on_response_impl(int status, View reason, int version, ErrorCodeType&) {
  head_.status = status;
  head_.reason = reason;
  head_.version = version;
}

template <bool kRequest>
void MessageParser<kRequest>::on_field_impl(Field, View name, View value, ErrorCodeType& code) {
  // Beast unfolds a folded line into a buffer of its own; RFC 9112 5.2 lets a server refuse it.
  const auto* const at = reinterpret_cast<const std::byte*>(value.data());
  if (!value.empty() && (at < fed_.data() || at >= fed_.data() + fed_.size())) {
    return refuse(400, "folded header lines are obsolete and refused", code);
  }
  bytes_ += name.size() + value.size() + 4;
  auto& fields = in_trailers_ ? trailers_ : head_.headers;
  if (bytes_ > limits_.header_bytes) {
    code = beast_http::error::header_limit;
  } else if (fields.size() >= limits_.header_count) {
    refuse(431, "more than " + std::to_string(limits_.header_count) + " header fields", code);
  } else {
    fields.add(std::string(name), std::string(value));
  }
}

template <bool kRequest>
void MessageParser<kRequest>::on_header_impl(ErrorCodeType& code) {
  in_trailers_ = true;
  bytes_ = 0;
  check_framing(code);
  if (kRequest && !code) check_host(code);
}

// One message must have one length. RFC 9112 6.3 tells what to do with each ambiguity; refusing all is allowed.
template <bool kRequest>
void MessageParser<kRequest>::check_framing(ErrorCodeType& code) {
  const auto lengths = head_.headers.get_all("Content-Length");
  const auto codings = head_.headers.get_all("Transfer-Encoding");
  if (lengths.size() > 1) return refuse(400, "more than one Content-Length", code);
  if (lengths.size() == 1 && lengths[0].find_first_not_of("0123456789") != std::string_view::npos) {
    return refuse(400, "Content-Length must be one decimal number", code);
  }
  if (codings.empty()) return;
  if (!lengths.empty()) return refuse(400, "both Content-Length and Transfer-Encoding", code);
  if (head_.version < 11) return refuse(400, "Transfer-Encoding in an HTTP/1.0 message", code);
  if (codings.size() > 1) return refuse(400, "more than one Transfer-Encoding", code);
  if (!iequals(codings[0], "chunked")) {
    refuse(501, "Transfer-Encoding must be 'chunked', not '" + std::string(codings[0]) + "'", code);
  }
}

template <bool kRequest>
void MessageParser<kRequest>::check_host(ErrorCodeType& code) {
  const auto hosts = head_.headers.count("Host");
  if (hosts > 1) return refuse(400, "more than one Host", code);
  if (hosts == 0 && head_.version >= 11) refuse(400, "an HTTP/1.1 request needs a Host", code);
}

template <bool kRequest>
void MessageParser<kRequest>::on_chunk_header_impl(std::uint64_t size, View, ErrorCodeType&) {
  chunk_left_ = size;
}

template <bool kRequest>
std::size_t MessageParser<kRequest>::on_chunk_body_impl(std::uint64_t, View body, ErrorCodeType&) {
  const auto count = deliver(body);
  chunk_left_ -= count;
  return count;
}

template <bool kRequest>
std::size_t MessageParser<kRequest>::deliver(View body) {
  const auto count = std::min(body.size(), into_.size() - delivered_);
  auto* const destination = into_.data() + delivered_;
  if (reinterpret_cast<const std::byte*>(body.data()) != destination) {
    std::memcpy(destination, body.data(), count);
  }
  delivered_ += count;
  return count;
}

template <bool kRequest>
void MessageParser<kRequest>::refuse(int status, std::string message, ErrorCodeType& code) {
  refused_status_ = status;
  refused_message_ = std::move(message);
  code = beast_http::error::bad_field;
}

template class MessageParser<true>;
template class MessageParser<false>;

}  // namespace harena::http
