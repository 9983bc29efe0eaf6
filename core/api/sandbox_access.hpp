#pragma once
// Which sandboxes a caller may see and use.

#include "core/api/call.hpp"
#include "core/api/services.hpp"

namespace harena {

/// The sandbox of the path's `{id}`, if the caller has `permission` on its project. Else permission_denied for those who may
/// at least read it, and not_found, as for an id that doesn't exist, for everybody else.
http::Task<Result<Sandbox>> permitted_sandbox(ApiServices& services, const ApiCall& call, Permission permission);

}  // namespace harena
