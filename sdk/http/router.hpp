#pragma once
// Router: from method and path to a handler; also the table from which the API's description is generated.
//
//   router.add({"GET", "/v1/sandboxes/{id}", {.operation_id = "getSandbox", .summary = "..."}, handler});
//   router.add({"*", "/v1/sandboxes/{id}/ports/{port}/{*rest}", {...}, proxy});

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sdk/http/server.hpp"

namespace harena::http {

/// What the generated API description says about a route.
struct RouteInfo {
  std::string operation_id;
  std::string summary;
  std::string description;
  std::vector<std::string> tags;
  /// Names of schemas; empty if there is no JSON body.
  std::string request_schema;
  std::string response_schema;
  int success_status = 200;
  /// Names of query parameters, each "name: description".
  std::vector<std::string> query_parameters;
  /// The answer's media type if it isn't JSON: "application/octet-stream", "application/x-ndjson" ...
  std::string response_media_type;
  /// False: not part of the description.
  bool documented = true;
};

struct Route {
  /// "*" for any method that has no route of its own.
  std::string method;
  /// Literal segments, `{name}` for one segment, `{*name}` last for the raw rest (which may be empty).
  std::string pattern;
  RouteInfo info;
  Handler handler;
};

/// Filled once, then read by any thread. Literals win over parameters, parameters over the rest.
class Router {
 public:
  Router();
  ~Router();
  Router(Router&&) noexcept;

  /// invalid_argument for a malformed pattern or a parameter named differently than in a sibling route;
  /// already_exists for a second route of the same method and pattern.
  Status add(Route route);
  /// In the order of adding.
  const std::vector<Route>& routes() const { return routes_; }

  /// Finds the route and runs it. not_found (404) for an unknown path, 405 with Allow for an unknown method (which is
  /// also the answer to OPTIONS without a route), invalid_argument for a malformed escape in a parameter. HEAD falls back to GET.
  Task<Status> route(Request& request, ResponseWriter& response) const;
  /// For Server::start(); borrows the router.
  Handler handler() const;

 private:
  struct Node;
  struct Match;
  const Node* find(const Node& node, std::string_view rest, bool at_end, Match& match) const;

  std::unique_ptr<Node> root_;
  std::vector<Route> routes_;
};

}  // namespace harena::http
