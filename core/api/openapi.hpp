#pragma once
// The OpenAPI 3.1 document, generated from the routes and from the schemas that the backends publish.

#include <vector>

#include <nlohmann/json.hpp>

#include "core/contracts/edge.hpp"
#include "sdk/http/router.hpp"

namespace harena {

/// `paths` from the documented routes, `components.schemas` from openapi_schemas(), and one create-request schema a backend
/// (`CreateContainerSandbox`, ...), so that a third party's backend appears without a rebuild.
nlohmann::json openapi_document(const std::vector<http::Route>& routes, const std::vector<BackendListing>& backends);

/// The schemas of what the API takes and gives, by name (openapi_schemas.cpp).
nlohmann::json openapi_schemas();

/// What the document says of an operation beyond its RouteInfo: schemas, query parameters, media types
/// (openapi_operations.cpp). {} for an operation that needs no more.
nlohmann::json openapi_operation(const std::string& operation_id);

}  // namespace harena
