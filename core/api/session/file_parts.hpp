#pragma once
// What the handlers of files share; internal to core/api/session.

#include <nlohmann/json.hpp>

#include <memory>
#include <string>

#include "core/api/session/handlers.hpp"
#include "core/api/session/session_json.hpp"

namespace harena {

/// `path` and `user` of a query into a request of the session protocol.
template <class Request>
Status take_path_and_user(const http::Query& query, Request& request) {
  HARENA_TRY(request.path, parse_path(query));
  request.user = std::string(query.get("user").value_or(""));
  return {};
}

/// `path` (or another key) of a body, absolute.
Result<std::string> body_path(JsonFields& fields, const std::string& key);

http::Task<Status> send_stat(http::ResponseWriter& response, Result<session::FileStat> stat);

/// The request's body into an upload, block by block.
http::Task<Status> copy_body(http::Request& request, session::UploadStream& upload);
/// A file or an archive into the answer, which has begun, and the answer's end.
http::Task<Status> copy_file(session::FileReader& reader, http::ResponseWriter& response);

}  // namespace harena
