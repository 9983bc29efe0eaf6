#pragma once
// A request for a port in a sandbox: handed to Harena's ports as it is, HTTP and upgrades alike, without what is ours in it.

#include <cstdint>
#include <string>

#include "plugins/e2b/envd/envd_call.hpp"

namespace harena::e2b {

/// The head that goes to the API: routing headers and traffic token taken out, Host masked, the credential beside it. Pure.
http::ClientHead port_head(const http::Request& request, const SandboxAccess& sandbox, std::uint16_t port);
/// `${PORT}` of a mask replaced. Pure.
std::string masked_host(std::string mask, std::uint16_t port);

/// Answers with what the port answers; 502 in E2B's words when nothing listens there (a request without a body is tried again for a
/// second first: a service that has just been started may need that). 403 without the traffic token.
http::Task<Status> forward_port(EnvdCall& call, std::uint16_t port);

}  // namespace harena::e2b
