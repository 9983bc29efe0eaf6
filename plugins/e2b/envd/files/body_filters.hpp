#pragma once
// Bodies made of other bodies, piece by piece: uncompressed, one part of several, one file after the other.

#include <memory>
#include <string>
#include <vector>

#include "plugins/e2b/envd/envd_call.hpp"
#include "plugins/e2b/envd/http/gzip.hpp"
#include "plugins/e2b/envd/http/multipart.hpp"

namespace harena::e2b {

/// The body of a request, as a source.
class RequestBody final : public http::BodySource {
 public:
  explicit RequestBody(http::Request& request) : request_(request) {}
  http::Task<Result<std::size_t>> read_body(std::span<std::byte> into) override { return request_.read(into); }
  const http::Headers& trailers() const override { return request_.trailers(); }
  std::optional<std::uint64_t> body_length() const override { return request_.body_length(); }

 private:
  http::Request& request_;
};

/// What a gzip body unfolds to. invalid_argument for what isn't whole gzip.
class GunzipBody final : public http::BodySource {
 public:
  explicit GunzipBody(http::BodySource& packed) : packed_(packed) {}
  http::Task<Result<std::size_t>> read_body(std::span<std::byte> into) override;
  const http::Headers& trailers() const override { return packed_.trailers(); }
  std::optional<std::uint64_t> body_length() const override { return std::nullopt; }

 private:
  http::Task<Status> fill();
  http::BodySource& packed_;
  GzipReader reader_;
  std::vector<std::byte> block_ = std::vector<std::byte>(32 * 1024);
  std::string_view rest_;
  bool ended_ = false;
};

/// The parts of a multipart body, one after the other.
class MultipartBody final : public http::BodySource {
 public:
  MultipartBody(http::BodySource& body, std::string_view boundary) : body_(body), parser_(boundary) {}
  /// The next part's head; nullopt behind the last one. What wasn't read of the part before is skipped.
  http::Task<Result<std::optional<PartHead>>> next_part();
  /// Of the part.
  http::Task<Result<std::size_t>> read_body(std::span<std::byte> into) override;
  const http::Headers& trailers() const override { return trailers_; }
  std::optional<std::uint64_t> body_length() const override { return std::nullopt; }

 private:
  /// The next event that isn't need_more.
  http::Task<Result<MultipartParser::Event>> event();
  http::BodySource& body_;
  MultipartParser parser_;
  std::vector<std::byte> block_ = std::vector<std::byte>(256 * 1024);
  std::string_view rest_;
  bool in_part_ = false;
  http::Headers trailers_;
};

/// Files of the sandbox, one after the other. A missing one is not_found.
class FilesBody final : public http::BodySource {
 public:
  FilesBody(SandboxCall& call, std::vector<std::string> paths) : call_(call), paths_(std::move(paths)) {}
  http::Task<Result<std::size_t>> read_body(std::span<std::byte> into) override;
  const http::Headers& trailers() const override { return trailers_; }
  std::optional<std::uint64_t> body_length() const override { return std::nullopt; }

 private:
  SandboxCall& call_;
  std::vector<std::string> paths_;
  std::size_t next_ = 0;
  bool open_ = false;
  http::Headers trailers_;
};

}  // namespace harena::e2b
