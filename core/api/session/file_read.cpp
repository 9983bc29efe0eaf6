// GET and HEAD of a file: conditions and ranges are judged on the state of the very file that is then read.

#include "core/api/session/file_conditions.hpp"
#include "core/api/session/file_parts.hpp"
#include "sdk/http/error.hpp"

namespace harena {

using http::Headers;
using http::Request;
using http::ResponseWriter;
using http::Task;

namespace {

bool is_conditional(const Request& request) {
  for (auto name : {"Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"}) {
    if (request.headers().contains(name)) return true;
  }
  return request.method() == "HEAD";
}

std::string content_range(const ByteRange& range, std::uint64_t size) {
  auto last = range.first + range.length - 1;
  return "bytes " + std::to_string(range.first) + "-" + std::to_string(last) + "/" + std::to_string(size);
}

Headers headers_of(const FileVersion& version) {
  Headers headers;
  headers.set("Content-Type", "application/octet-stream");
  headers.set("Accept-Ranges", "bytes");
  headers.set("Last-Modified", http_date(version.modified_s));
  if (!version.etag.empty()) headers.set("ETag", version.etag);
  return headers;
}

Task<Status> send_unsatisfiable(ResponseWriter& response, Headers headers, const Error& error, std::uint64_t size) {
  headers.set("Content-Range", "bytes */" + std::to_string(size));
  headers.set("Content-Type", "application/json");
  std::string body = http::error_body(error);
  co_return co_await response.send(416, std::move(headers), body);
}

Task<Status> send_verdict(ResponseWriter& response, Headers headers, Verdict verdict) {
  if (verdict == Verdict::not_modified) co_return co_await response.send(304, std::move(headers), {});
  headers.set("Content-Type", "application/json");
  auto error = make_error(ErrorCode::failed_precondition, "the file isn't as If-Match or If-Unmodified-Since demands");
  std::string body = http::error_body(error);
  co_return co_await response.send(412, std::move(headers), body);
}

/// What the client gets: decided by the headers and the opened file's state.
struct Choice {
  Verdict verdict = Verdict::proceed;
  std::optional<ByteRange> range;
  std::optional<Error> unsatisfiable;
};

Choice choose(const Request& request, const FileVersion& version, std::uint64_t size) {
  Choice choice;
  choice.verdict = judge_conditions(request.headers(), version);
  // Range is defined for GET alone.
  if (choice.verdict != Verdict::proceed || request.method() == "HEAD") return choice;
  auto range = wanted_range(request.headers(), version, size);
  if (range) {
    choice.range = *range;
  } else {
    choice.unsatisfiable = range.error();
  }
  return choice;
}

/// The reader stands behind its stat, and waits to be told the part.
Task<Status> answer_asked(Request& request, ResponseWriter& response, session::FileReader& reader) {
  const auto size = reader.stat().size;
  const auto version = version_of(reader.stat());
  const auto choice = choose(request, version, size);
  auto headers = headers_of(version);
  if (choice.verdict != Verdict::proceed || choice.unsatisfiable || request.method() == "HEAD") {
    HARENA_CO_TRY_STATUS(co_await reader.decline());
    if (choice.verdict != Verdict::proceed) co_return co_await send_verdict(response, std::move(headers), choice.verdict);
    if (choice.unsatisfiable) co_return co_await send_unsatisfiable(response, std::move(headers), *choice.unsatisfiable, size);
    HARENA_CO_TRY_STATUS(co_await response.begin(200, std::move(headers), size));
    co_return co_await response.finish();
  }
  session::FileRange part;
  std::uint64_t length = size;
  if (choice.range) {
    part.offset = choice.range->first;
    part.length = length = choice.range->length;
    headers.set("Content-Range", content_range(*choice.range, size));
  }
  HARENA_CO_TRY_STATUS(co_await reader.choose(part));
  const int status = choice.range ? 206 : 200;
  HARENA_CO_TRY_STATUS(co_await response.begin(status, std::move(headers), length));
  co_return co_await copy_file(reader, response);
}

}  // namespace

Task<Status> read_file(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto query, request.query());
  HARENA_CO_TRY_STATUS(query.allow_only({"path", "user"}));
  session::FileReadRequest read;
  HARENA_CO_TRY_STATUS(take_path_and_user(query, read));
  read.ask = is_conditional(request);
  HARENA_CO_TRY(auto link, co_await connector.connect());
  HARENA_CO_TRY(auto reader, co_await link.client.read_file(read));
  if (read.ask) co_return co_await answer_asked(request, response, reader);
  const auto length = reader.stat().size;
  auto headers = headers_of(version_of(reader.stat()));
  HARENA_CO_TRY_STATUS(co_await response.begin(200, std::move(headers), length));
  co_return co_await copy_file(reader, response);
}

}  // namespace harena
