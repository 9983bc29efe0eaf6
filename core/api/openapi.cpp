#include "core/api/openapi.hpp"

#include <cctype>

#include "sdk/base/text.hpp"

namespace harena {

using nlohmann::json;

namespace {

/// "/v1/x/{id}/{*rest}" -> "/v1/x/{id}/{rest}": OpenAPI has no rest parameters.
std::string openapi_path(std::string pattern) {
  std::erase(pattern, '*');
  return pattern;
}

json path_parameters(const std::string& operation_id, const std::string& pattern) {
  json list = json::array();
  for (auto open = pattern.find('{'); open != std::string::npos; open = pattern.find('{', open + 1)) {
    const auto close = pattern.find('}', open);
    std::string name = pattern.substr(open + 1, close - open - 1);
    std::erase(name, '*');
    list.push_back(openapi_parameter(operation_id, name, "path", true));
  }
  return list;
}

json operation_of(const http::Route& route) {
  json operation = openapi_operation(route.info.operation_id);
  operation["operationId"] = route.info.operation_id;
  operation["summary"] = route.info.summary;
  json parameters = path_parameters(route.info.operation_id, route.pattern);
  for (const auto& parameter : operation.value("parameters", json::array())) parameters.push_back(parameter);
  if (!parameters.empty()) operation["parameters"] = std::move(parameters);
  return operation;
}

std::string schema_name(const std::string& backend) {
  std::string name = "Create";
  bool upper = true;
  for (const char c : backend) {
    if (!std::isalnum(static_cast<unsigned char>(c))) {
      upper = true;
      continue;
    }
    name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return name + "Sandbox";
}

/// The create request with this backend's own params in the place of the general ones.
json create_schema(const json& general, const BackendDescription& backend) {
  json schema = general;
  schema["properties"]["params"] = backend.params_schema;
  if (backend.needs_image) schema["required"] = {"image"};
  return schema;
}

std::vector<std::string> methods_of(const http::Route& route) {
  if (route.method != "*") return {route.method};
  return {"GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS"};
}

void add_operation(json& paths, const http::Route& route, const std::string& method) {
  const std::string key = ascii_lower(method);
  json operation = operation_of(route);
  if (route.method == "*") operation["operationId"] = route.info.operation_id + "_" + key;
  paths[openapi_path(route.pattern)][key] = std::move(operation);
}

}  // namespace

json openapi_document(const std::vector<http::Route>& routes, const std::vector<BackendListing>& backends) {
  json document = {{"openapi", "3.1.0"}};
  document["info"] = {{"title", "Harena"},
                      {"version", HARENA_VERSION},
                      {"description", "Sandboxes for agentic reinforcement learning and for agents that run code."},
                      {"license", {{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}};
  document["servers"] = json::array({{{"url", "/"}}});
  json schemas = openapi_schemas();
  json any_of = json::array();
  for (const auto& listing : backends) {
    const auto name = schema_name(listing.description.name);
    schemas[name] = create_schema(schemas["CreateSandbox"], listing.description);
    any_of.push_back({{"$ref", "#/components/schemas/" + name}});
  }
  if (!any_of.empty()) schemas["CreateAnySandbox"] = {{"anyOf", std::move(any_of)}};
  else schemas["CreateAnySandbox"] = {{"$ref", "#/components/schemas/CreateSandbox"}};
  document["components"]["schemas"] = std::move(schemas);
  document["components"]["securitySchemes"]["token"] = {{"type", "http"}, {"scheme", "bearer"}};
  document["security"] = json::array({{{"token", json::array()}}});
  json paths = json::object();
  for (const auto& route : routes) {
    if (!route.info.documented) continue;
    for (const auto& method : methods_of(route)) add_operation(paths, route, method);
  }
  document["paths"] = std::move(paths);
  return document;
}

}  // namespace harena
