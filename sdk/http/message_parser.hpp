#pragma once
// Beast's HTTP/1 parser, filling our types, stricter where two readers of one message might disagree (request
// smuggling). Internal to sdk/http.

#include <boost/beast/http/basic_parser.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sdk/base/result.hpp"
#include "sdk/http/headers.hpp"

namespace harena::http {

struct MessageLimits {
  /// Start line and fields together, and again for chunk extensions and trailers.
  std::size_t header_bytes = 32 * 1024;
  std::size_t header_count = 128;
};

struct MessageHead {
  std::string method;
  std::string target;
  int status = 0;
  std::string reason;
  /// 10 or 11.
  int version = 11;
  Headers headers;
};

/// One message; a connection makes a new parser for each. Bytes go in by put(), body bytes come out where
/// deliver_to() points.
template <bool kRequest>
class MessageParser final : public boost::beast::http::basic_parser<kRequest> {
 public:
  using ErrorCodeType = boost::beast::error_code;

  MessageParser(const MessageLimits& limits, MessageHead& head, Headers& trailers);

  /// Where the next body bytes go; borrowed until the put() after.
  void deliver_to(std::span<std::byte> into) {
    into_ = into;
    delivered_ = 0;
  }
  std::size_t delivered() const { return delivered_; }
  /// Body bytes that surely follow without framing between them.
  std::uint64_t contiguous() const;
  std::size_t put_bytes(std::span<const std::byte> bytes, ErrorCodeType& code);
  /// What to answer after an error: 400, 431, 501 or 505.
  int failure_status(const ErrorCodeType& code) const;
  std::string failure_message(const ErrorCodeType& code) const;

 private:
  using Field = boost::beast::http::field;
  using View = boost::beast::string_view;

  void on_request_impl(boost::beast::http::verb, View method, View target, int version, ErrorCodeType&) override;
  void on_response_impl(int status, View reason, int version, ErrorCodeType&) override;
  void on_field_impl(Field, View name, View value, ErrorCodeType&) override;
  // Later Boosts report trailers here; not marked override, for Boost 1.81 doesn't know it.
  void on_trailer_field_impl(Field field, View name, View value, ErrorCodeType& code) {
    on_field_impl(field, name, value, code);
  }
  void on_header_impl(ErrorCodeType&) override;
  void on_body_init_impl(boost::optional<std::uint64_t> const&, ErrorCodeType&) override {}
  std::size_t on_body_impl(View body, ErrorCodeType&) override { return deliver(body); }
  void on_chunk_header_impl(std::uint64_t size, View extensions, ErrorCodeType&) override;
  std::size_t on_chunk_body_impl(std::uint64_t remain, View body, ErrorCodeType&) override;
  void on_finish_impl(ErrorCodeType&) override {}

  std::size_t deliver(View body);
  void refuse(int status, std::string message, ErrorCodeType& code);
  void check_framing(ErrorCodeType& code);
  void check_host(ErrorCodeType& code);

  MessageLimits limits_;
  MessageHead& head_;
  Headers& trailers_;
  bool in_trailers_ = false;
  std::size_t bytes_ = 0;
  std::uint64_t chunk_left_ = 0;
  std::span<std::byte> into_;
  std::size_t delivered_ = 0;
  std::span<const std::byte> fed_;
  int refused_status_ = 0;
  std::string refused_message_;
};

extern template class MessageParser<true>;
extern template class MessageParser<false>;

}  // namespace harena::http
