// A folder as a tar stream, and a tar stream into a folder. The format is the session endpoint's business.

#include "core/api/session/file_parts.hpp"

namespace harena {

using http::Request;
using http::ResponseWriter;
using http::Task;

Task<Status> read_archive(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto query, request.query());
  session::FileArchiveReadRequest read;
  HARENA_CO_TRY_STATUS(take_path_and_user(query, read));
  HARENA_CO_TRY(auto link, co_await connector.connect());
  HARENA_CO_TRY(auto reader, co_await link.client.read_archive(read));
  http::Headers headers;
  headers.set("Content-Type", "application/x-tar");
  HARENA_CO_TRY_STATUS(co_await response.begin(200, std::move(headers)));
  if (request.method() == "HEAD") co_return co_await response.finish();
  co_return co_await copy_file(reader, response);
}

Task<Status> write_archive(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto query, request.query());
  session::FileArchiveWriteRequest write;
  HARENA_CO_TRY_STATUS(take_path_and_user(query, write));
  HARENA_CO_TRY(auto link, co_await connector.connect());
  HARENA_CO_TRY(auto writer, co_await link.client.write_archive(write));
  HARENA_CO_TRY_STATUS(co_await copy_body(request, writer));
  HARENA_CO_TRY(auto end, co_await writer.finish());
  nlohmann::json answer = nlohmann::json::object();
  answer["entries"] = end.entries;
  answer["bytes"] = end.bytes;
  co_return co_await response.send_json(200, answer);
}

}  // namespace harena
