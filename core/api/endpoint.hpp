#pragma once
// ApiRouter: how a room of routes registers. Every route goes through one gate: authenticate, refuse what its query doesn't know
// (openapi_operations.cpp has the names), make the call context, run, and turn the outcome into an answer.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/call.hpp"
#include "core/contracts/identity.hpp"
#include "sdk/base/random.hpp"
#include "sdk/http/router.hpp"

namespace harena {

class ApiRouter {
 public:
  using Route = std::function<http::Task<Result<Reply>>(ApiCall&)>;

  /// All outlive it.
  ApiRouter(http::Router& router, Authenticator& authenticator, RandomSource& random)
      : router_(router), authenticator_(authenticator), random_(random) {}

  /// A route of a class: `method` of `object`. Aborts the start (returns through status()) when two routes collide.
  template <class Object>
  void add(std::string method, std::string pattern, std::string operation_id, std::string summary, Object* object,
           http::Task<Result<Reply>> (Object::*member)(ApiCall&)) {
    add(std::move(method), std::move(pattern), {.operation_id = std::move(operation_id), .summary = std::move(summary)},
        [object, member](ApiCall& call) { return (object->*member)(call); });
  }
  void add(std::string method, std::string pattern, http::RouteInfo info, Route route);

  /// The first registration that failed.
  const Status& status() const { return status_; }

 private:
  struct Entry {
    Route route;
    bool checks_query;  ///< false: the query is somebody else's, a service's behind /ports
    std::vector<std::string> query;
  };
  http::Task<Status> run(const Entry& entry, http::Request& request, http::ResponseWriter& response);
  Result<Principal> authenticate(const http::Request& request);

  http::Router& router_;
  Authenticator& authenticator_;
  RandomSource& random_;
  Status status_;
};

/// A call that has this field brings our credential in it: its Authorization is somebody else's (a sandbox's, behind /ports).
inline constexpr std::string_view kOwnAuthorization = "Harena-Authorization";

/// The token of `Authorization: Bearer TOKEN` (or of kOwnAuthorization); unauthenticated says what a call must carry.
Result<std::string> bearer_token(const http::Request& request);

}  // namespace harena
