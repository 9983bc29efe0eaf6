#pragma once
// Endpoint: streamable HTTP at /mcp. What the transport asks for is checked here; the rest is the methods'.

#include "plugins/mcp/methods.hpp"
#include "plugins/mcp/sessions.hpp"
#include "sdk/http/server.hpp"

namespace harena::mcp {

/// Thread-safe.
class Endpoint {
 public:
  Endpoint(Services& services, Sessions& sessions) : services_(services), sessions_(sessions) {}
  /// For Server::start(); borrows the endpoint.
  http::Handler handler();

 private:
  http::Task<Status> serve(http::Request& request, http::ResponseWriter& response);
  http::Task<Status> post(http::Request& request, http::ResponseWriter& response, std::string token);
  http::Task<Status> end_session(http::Request& request, http::ResponseWriter& response, std::string token);
  http::Task<Status> initialize(const Message& message, http::ResponseWriter& response, std::string token);
  http::Task<Status> take(const http::Request& request, const Message& message, http::ResponseWriter& response, std::string token);
  http::Task<Status> run(const Caller& caller, const Message& message, http::ResponseWriter& response);

  Services& services_;
  Sessions& sessions_;
};

}  // namespace harena::mcp
