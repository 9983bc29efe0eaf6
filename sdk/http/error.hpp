#pragma once
// Error as HTTP: a status and a JSON body, and back again on the client's side.
//
//   {"error": {"code": "not_found", "message": "...", "cause": "none", "retry": "never", "details": {...}}}

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

#include "sdk/base/result.hpp"

namespace harena::http {

/// invalid_argument 400, unauthenticated 401, permission_denied 403, not_found 404, already_exists, aborted and
/// failed_precondition 409, out_of_range 416, resource_exhausted 429, cancelled 499, unimplemented 501,
/// unavailable 503, deadline_exceeded 504, the others 500.
int http_status(ErrorCode code);
/// The code that fits a status best, for answers that aren't ours: 502 is unavailable, 412 failed_precondition,
/// 405 unimplemented, 413 and 431 resource_exhausted, other 4xx invalid_argument, other 5xx internal.
ErrorCode error_code_from_http(int status);
/// "Not Found" for 404; "" for a status that has no name.
std::string_view reason_phrase(int status);

/// `{"error": {...}}`, for an answer or for a line of a stream. `details` must be an object (or null); `cause_detail` and the
/// context chain are added to it. Texts may be any bytes: dump with error_handler_t::replace, as error_body() and ndjson_line() do.
nlohmann::json error_document(const Error& error, const nlohmann::json& details);
nlohmann::json error_document(const Error& error);
/// The document as text.
std::string error_body(const Error& error, const nlohmann::json& details);
std::string error_body(const Error& error);

/// From an answer with status >= 400; a body of another shape becomes the message (its first 200 bytes).
Error parse_error(int status, std::string_view body);

/// What a server that is being stopped answers: unavailable, infrastructure (`draining`), retry on the same node.
Error stopping_error();

}  // namespace harena::http
