#pragma once
// CORS of envd: any page may use the SDK, the token is what protects a sandbox.

#include "sdk/http/request.hpp"
#include "sdk/http/response_writer.hpp"

namespace harena::e2b {

/// Whether it is a preflight, which is answered and goes no further.
bool is_preflight(const http::Request& request);
http::Task<Status> answer_preflight(http::Request& request, http::ResponseWriter& response);

/// Passes an answer on, with the fields that let a page of another origin read it.
class CorsSink final : public http::ResponseSink {
 public:
  explicit CorsSink(http::ResponseWriter& inner) : inner_(inner) {}
  http::Task<Status> inform(int status, const http::Headers& headers) override;
  http::Task<Status> send(int status, const http::Headers& headers, std::string_view body) override;
  http::Task<Status> begin(int status, const http::Headers& headers, std::optional<std::uint64_t> length) override;
  http::Task<Status> write(std::span<const std::byte> bytes) override { return inner_.write(bytes); }
  http::Task<Status> finish(const http::Headers& trailers) override { return inner_.finish(trailers); }
  http::Task<Status> begin_with(int status, const http::Headers& headers, std::optional<std::uint64_t> length,
                                std::span<const std::byte> first) override;
  http::Task<Status> finish_with(std::span<const std::byte> last) override { return inner_.finish_with(last); }
  http::Task<Result<std::unique_ptr<http::ByteStream>>> upgrade(int status, const http::Headers& headers) override;
  void set_reason(std::string reason) override { (void)inner_.set_reason(std::move(reason)); }
  void set_last_words(std::string text) override { inner_.set_last_words(std::move(text)); }

 private:
  http::ResponseWriter& inner_;
};

}  // namespace harena::e2b
