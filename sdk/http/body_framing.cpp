#include "sdk/http/body_framing.hpp"

#include <array>
#include <charconv>
#include <utility>

#include "sdk/http/error.hpp"

namespace harena::http {
namespace {

constexpr std::string_view kCrlf = "\r\n";

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string_view chunk_header(std::size_t size, std::array<char, 20>& space) {
  auto* const end = std::to_chars(space.data(), space.data() + 16, size, 16).ptr;
  end[0] = '\r';
  end[1] = '\n';
  return {space.data(), static_cast<std::size_t>(end + 2 - space.data())};
}

std::string last_chunk(const Headers& trailers) {
  std::string last = "0\r\n";
  append_fields(last, trailers);
  return last += kCrlf;
}

}  // namespace

void append_status_line(std::string& out, int status, std::string_view reason) {
  out += "HTTP/1.1 ";
  out += std::to_string(status);
  out += ' ';
  out += reason.empty() ? std::string_view(reason_phrase(status)) : reason;
  out += kCrlf;
}

void append_request_line(std::string& out, std::string_view method, std::string_view target) {
  out += method;
  out += ' ';
  out += target;
  out += " HTTP/1.1\r\n";
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  out += value;
  out += kCrlf;
}

bool append_fields(std::string& out, const Headers& headers, std::optional<std::uint64_t> length) {
  bool written = false;
  for (const auto& [name, value] : headers) {
    if (iequals(name, "Transfer-Encoding")) continue;
    if (!iequals(name, "Content-Length")) {
      append_field(out, name, value);
    } else if (length && !std::exchange(written, true)) {
      append_field(out, name, std::to_string(*length));
    }
  }
  return written;
}

Status BodyWriter::count(std::size_t bytes) {
  if (kind_ != BodyKind::length) return {};
  if (bytes > left_) return make_error(ErrorCode::failed_precondition, "the body is longer than its announced length");
  left_ -= bytes;
  return {};
}

/// `bytes` as the framing has them, between what else goes out with them.
Task<Status> BodyWriter::write_framed(std::string head, std::span<const std::byte> bytes, std::string_view after) {
  const bool dropped = bytes.empty() || kind_ == BodyKind::none;
  const bool chunk = !dropped && kind_ == BodyKind::chunked;
  std::array<char, 20> space;
  if (chunk) head += chunk_header(bytes.size(), space);
  std::string tail(chunk ? kCrlf : std::string_view());
  tail += after;
  if (dropped) bytes = {};
  const std::array<std::span<const std::byte>, 3> parts = {bytes_of(head), bytes, bytes_of(tail)};
  co_return co_await stream_.write_parts(parts);
}

Task<Status> BodyWriter::write(std::span<const std::byte> bytes) {
  if (bytes.empty() || kind_ == BodyKind::none) co_return ok_status();
  HARENA_CO_TRY_STATUS(count(bytes.size()));
  if (kind_ == BodyKind::chunked) co_return co_await write_framed(std::string(), bytes, std::string_view());
  co_return co_await stream_.write(bytes);
}

Task<Status> BodyWriter::write_behind(std::string head, std::span<const std::byte> bytes) {
  HARENA_CO_TRY_STATUS(count(bytes.size()));
  co_return co_await write_framed(std::move(head), bytes, std::string_view());
}

Task<Status> BodyWriter::finish(const Headers& trailers) {
  if (kind_ == BodyKind::length && left_ > 0) {
    co_return make_error(ErrorCode::failed_precondition,
                         "the body is " + std::to_string(left_) + " bytes short of its announced length");
  }
  if (kind_ != BodyKind::chunked) co_return ok_status();
  const auto last = last_chunk(trailers);
  co_return co_await stream_.write(bytes_of(last));
}

Task<Status> BodyWriter::finish_with(std::span<const std::byte> bytes) {
  const Headers none;
  if (kind_ == BodyKind::chunked) {
    const auto last = last_chunk(none);
    co_return co_await write_framed(std::string(), bytes, last);
  }
  HARENA_CO_TRY_STATUS(co_await write(bytes));
  co_return co_await finish(none);
}

}  // namespace harena::http
