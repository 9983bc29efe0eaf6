#pragma once
// The three ways to forward, once the stream is there. Internal to core/api/ports.

#include <nlohmann/json_fwd.hpp>

#include "core/api/ports/forward.hpp"
#include "sdk/http/client_connection.hpp"

namespace harena {

/// 502 with details.reason and details.port.
http::Task<Status> answer_bad_gateway(http::ResponseWriter& response, const PortForward& to, const char* reason,
                                      std::string message);

/// What the sandbox is asked: target and fields, without framing.
http::ClientHead forwarded_head(const http::Request& request, const PortForward& to, bool keep_upgrade);

/// 101, then bytes both ways.
http::Task<Status> forward_tcp(http::ResponseWriter& response, std::unique_ptr<http::ByteStream> stream);
/// Asks for the upgrade; passes bytes both ways if it is granted, else the answer.
http::Task<Status> forward_upgrade(http::Request& request, http::ResponseWriter& response, const PortForward& to,
                                   std::unique_ptr<http::ByteStream> stream);
http::Task<Status> forward_http(http::Request& request, http::ResponseWriter& response, const PortForward& to,
                                std::unique_ptr<http::ByteStream> stream);

/// Passes on a 1xx.
http::Task<Status> pass_interim(http::ResponseWriter& response, http::ResponseHead head);

/// Passes on the rest of an answer whose head was read.
http::Task<Status> relay_answer(http::ClientConnection& connection, http::ResponseHead head,
                                http::ResponseWriter& response);

}  // namespace harena
