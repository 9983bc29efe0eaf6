#pragma once
// The data plane: what is meant for a sandbox and not for the control API: envd and the sandbox's ports.

#include "plugins/e2b/services.hpp"
#include "sdk/http/request.hpp"
#include "sdk/http/response_writer.hpp"

namespace harena::e2b {

/// Answers a request that is for a sandbox (by its host name, its headers or its signature); false, and nothing is answered,
/// when it is for none.
http::Task<Result<bool>> serve_data_plane(Services& services, http::Request& request, http::ResponseWriter& response);

}  // namespace harena::e2b
