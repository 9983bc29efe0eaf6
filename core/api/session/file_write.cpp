// PUT of a file, whole or in place, and its length.

#include "core/api/session/file_parts.hpp"
#include "sdk/http/error.hpp"

namespace harena {

using http::Request;
using http::ResponseWriter;
using http::Task;

namespace {

Error invalid_write(std::string message) { return make_error(ErrorCode::invalid_argument, std::move(message)); }

Status take_offset(const http::Query& query, session::FileWriteRequest& write) {
  if (!query.contains("offset")) return {};
  for (auto name : {"mode", "parents", "exclusive"}) {
    if (!query.contains(name)) continue;
    return invalid_write(std::string("'") + name + "' can't be given with 'offset', which writes into the file that is there");
  }
  HARENA_TRY(write.offset, parse_number(query, "offset", 0));
  return {};
}

/// If-None-Match: * is `exclusive`. Others would need a lock on the file to be true: refused rather than ignored.
Status take_conditions(const Request& request, session::FileWriteRequest& write) {
  for (auto name : {"If-Match", "If-Unmodified-Since", "Content-Range"}) {
    if (request.headers().contains(name)) {
      return make_error(ErrorCode::unimplemented, std::string(name) + " on a write; 'If-None-Match: *' and ?offset= are there");
    }
  }
  auto none_match = request.header("If-None-Match");
  if (!none_match) return {};
  if (*none_match != "*" || write.offset) {
    return make_error(ErrorCode::unimplemented, "If-None-Match on a write: only *, for a file that isn't there yet");
  }
  write.exclusive = true;
  return {};
}

Result<session::FileWriteRequest> parse_write(const Request& request) {
  HARENA_TRY(auto query, request.query());
  session::FileWriteRequest write;
  HARENA_TRY_STATUS(take_path_and_user(query, write));
  HARENA_TRY(write.parents, parse_bool(query, "parents", false));
  HARENA_TRY(write.exclusive, parse_bool(query, "exclusive", false));
  if (auto mode = query.get("mode")) {
    HARENA_TRY(write.mode, parse_mode(*mode));
  }
  HARENA_TRY_STATUS(take_offset(query, write));
  HARENA_TRY_STATUS(take_conditions(request, write));
  return write;
}

Task<Result<session::FileStat>> write_whole(Request& request, SessionConnector& connector, session::FileWriteRequest write) {
  HARENA_CO_TRY(auto link, co_await connector.connect());
  HARENA_CO_TRY(auto writer, co_await link.client.write_file(write));
  HARENA_CO_TRY_STATUS(co_await copy_body(request, writer));
  co_return co_await writer.finish();
}

}  // namespace

Task<Status> write_file(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto write, parse_write(request));
  auto stat = co_await write_whole(request, connector, std::move(write));
  if (!stat && stat.error().code == ErrorCode::already_exists && request.headers().contains("If-None-Match")) {
    const nlohmann::json details = nlohmann::json::object();
    co_return co_await response.send_error(stat.error(), details, 412);
  }
  co_return co_await send_stat(response, std::move(stat));
}

Task<Status> truncate_file(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto body, co_await read_json(request));
  JsonFields fields(body, "the truncation");
  session::FileTruncateRequest truncate;
  HARENA_CO_TRY(truncate.path, body_path(fields, "path"));
  HARENA_CO_TRY(truncate.user, fields.string("user", ""));
  HARENA_CO_TRY(auto size, fields.integer("size", -1, 0, INT64_MAX));
  HARENA_CO_TRY_STATUS(fields.finish());
  if (size < 0) co_return invalid_write("'size' is required: the length in bytes");
  truncate.size = static_cast<std::uint64_t>(size);
  HARENA_CO_TRY(auto link, co_await connector.connect());
  auto stat = co_await link.client.truncate(truncate);
  co_return co_await send_stat(response, std::move(stat));
}

}  // namespace harena
