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

/// The answer to a request about a file in this state.
class Answer {
 public:
  Answer(const Request& request, ResponseWriter& response, const session::FileStat& stat)
      : response_(response), size_(stat.size), head_(request.method() == "HEAD") {
    auto version = version_of(stat);
    choice_ = choose(request, version, size_);
    headers_ = headers_of(version);
  }

  bool has_bytes() const { return choice_.verdict == Verdict::proceed && !choice_.unsatisfiable && !head_; }
  session::FileRange part() const {
    session::FileRange part;
    if (!choice_.range) return part;
    part.offset = choice_.range->first;
    part.length = choice_.range->length;
    return part;
  }

  Task<Status> send_without_bytes() {
    if (choice_.verdict != Verdict::proceed) co_return co_await send_verdict(response_, std::move(headers_), choice_.verdict);
    if (choice_.unsatisfiable) co_return co_await send_unsatisfiable(response_, std::move(headers_), *choice_.unsatisfiable, size_);
    HARENA_CO_TRY_STATUS(co_await response_.begin(200, std::move(headers_), size_));
    co_return co_await response_.finish();
  }

  Task<Status> send_bytes(session::FileReader& reader) {
    if (choice_.range) headers_.set("Content-Range", content_range(*choice_.range, size_));
    const int status = choice_.range ? 206 : 200;
    const std::uint64_t length = choice_.range ? choice_.range->length : size_;
    HARENA_CO_TRY_STATUS(co_await response_.begin(status, std::move(headers_), length));
    co_return co_await copy_file(reader, response_);
  }

 private:
  ResponseWriter& response_;
  std::uint64_t size_;
  bool head_;
  Choice choice_;
  Headers headers_;
};

/// The reader stands behind its stat, and waits to be told the part.
Task<Status> answer_asked(Request& request, ResponseWriter& response, session::FileReader& reader) {
  Answer answer(request, response, reader.stat());
  if (answer.has_bytes()) {
    const auto part = answer.part();
    HARENA_CO_TRY_STATUS(co_await reader.choose(part));
    co_return co_await answer.send_bytes(reader);
  }
  HARENA_CO_TRY_STATUS(co_await reader.decline());
  co_return co_await answer.send_without_bytes();
}

/// An endpoint of the first release can't be asked: its stat comes first, then the file.
Task<Status> answer_in_two_steps(Request& request, ResponseWriter& response, session::SessionClient& client, session::FileReadRequest read) {
  session::FilePathRequest look;
  look.path = read.path;
  look.user = read.user;
  look.follow = true;
  HARENA_CO_TRY(auto stat, co_await client.stat(look));
  Answer answer(request, response, stat);
  if (!answer.has_bytes() && stat.type == session::FileType::file) co_return co_await answer.send_without_bytes();
  const auto part = answer.part();
  read.ask = false;
  read.offset = part.offset;
  read.length = part.length;
  HARENA_CO_TRY(auto reader, co_await client.read_file(read));
  co_return co_await answer.send_bytes(reader);
}

}  // namespace

Task<Status> read_file(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto query, request.query());
  session::FileReadRequest read;
  HARENA_CO_TRY_STATUS(take_path_and_user(query, read));
  read.ask = is_conditional(request);
  HARENA_CO_TRY(auto link, co_await connector.connect());
  auto reader = co_await link.client.read_file(read);
  if (!reader && read.ask && reader.error().code == ErrorCode::unimplemented) {
    co_return co_await answer_in_two_steps(request, response, link.client, read);
  }
  if (!reader) co_return std::move(reader).error();
  if (read.ask) co_return co_await answer_asked(request, response, *reader);
  Answer answer(request, response, reader->stat());
  co_return co_await answer.send_bytes(*reader);
}

}  // namespace harena
