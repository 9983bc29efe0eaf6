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

/// What the document says of an operation beyond its RouteInfo: schemas, query parameters, media types, errors
/// (openapi_operations.cpp).
nlohmann::json openapi_operation(const std::string& operation_id);

/// The names of an operation's query parameters: there are no others.
std::vector<std::string> openapi_query(const std::string& operation_id);

/// A parameter with its type, range, default and meaning (openapi_parameters.cpp). `in`: "path" or "query".
nlohmann::json openapi_parameter(const std::string& operation_id, const std::string& name, const char* in, bool required);

}  // namespace harena
