#pragma once
// Answers of envd's plain HTTP: errors are always JSON with an integer `code`, equal to the status, and a `message`.

#include <nlohmann/json.hpp>

#include <string>

#include "sdk/base/result.hpp"
#include "sdk/http/response_writer.hpp"

namespace harena::e2b {

/// 400, 401, 404, 409, 429, 500, 501, 503, 504; 507 for a full disk. 403 is 401's neighbour: 403.
int rest_status(const Error& error);
http::Task<Status> send_rest_error(http::ResponseWriter& response, int status, std::string message);
http::Task<Status> send_rest_error(http::ResponseWriter& response, Error error);
/// Texts that aren't UTF-8 get U+FFFD.
http::Task<Status> send_rest_json(http::ResponseWriter& response, int status, nlohmann::json body);

/// 502, the protocol's word for a sandbox that is gone.
http::Task<Status> send_sandbox_gone(http::ResponseWriter& response, std::string sandbox);
/// 502: it runs, and nothing listens there.
http::Task<Status> send_port_closed(http::ResponseWriter& response, std::string sandbox, std::uint16_t port);
/// 403: a port of a sandbox whose traffic needs a token.
http::Task<Status> send_traffic_refused(http::ResponseWriter& response, std::string sandbox);

}  // namespace harena::e2b
