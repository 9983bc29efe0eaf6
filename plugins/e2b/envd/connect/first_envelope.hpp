#pragma once
// FirstEnvelope: a stream whose first envelope decides what the answer is.
//
// The error of a stream is an envelope under status 200. When that is the first one, the call has done nothing, and may be answered in
// another way: a sandbox that is gone is a 502, as E2B's proxy has it.

#include <functional>
#include <optional>

#include "sdk/http/response_writer.hpp"

namespace harena::e2b {

class FirstEnvelope final : public http::ResponseSink {
 public:
  /// Asked when the stream begins with its end: true when it has answered on `inner` itself; then the stream is dropped.
  using Instead = std::function<http::Task<Result<bool>>()>;
  /// Borrows `inner`.
  FirstEnvelope(http::ResponseWriter& inner, Instead instead) : inner_(inner), instead_(std::move(instead)) {}

  http::Task<Status> inform(int status, const http::Headers& headers) override { return inner_.inform(status, headers); }
  http::Task<Status> send(int status, const http::Headers& headers, std::string_view body) override;
  http::Task<Status> begin(int status, const http::Headers& headers, std::optional<std::uint64_t> length) override;
  http::Task<Status> write(std::span<const std::byte> bytes) override;
  http::Task<Status> finish(const http::Headers& trailers) override;
  http::Task<Status> finish_with(std::span<const std::byte> last) override;
  http::Task<Result<std::unique_ptr<http::ByteStream>>> upgrade(int status, const http::Headers& headers) override;
  void set_reason(std::string reason) override { (void)inner_.set_reason(std::move(reason)); }
  void set_last_words(std::string text) override { inner_.set_last_words(std::move(text)); }

 private:
  struct Head {
    int status;
    http::Headers headers;
    std::optional<std::uint64_t> length;
  };
  http::Task<Status> drop_if_end(std::span<const std::byte> first);

  http::ResponseWriter& inner_;
  Instead instead_;
  /// Until the first envelope.
  std::optional<Head> held_;
  bool dropped_ = false;
};

}  // namespace harena::e2b
