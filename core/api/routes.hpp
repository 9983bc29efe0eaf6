#pragma once
// ApiRoutes: all routes of the API, in one place.

#include <memory>

#include "core/api/endpoint.hpp"
#include "core/api/services.hpp"

namespace harena {

class ApiRoutes {
 public:
  /// Both outlive it. `router` is read for the OpenAPI document.
  ApiRoutes(ApiServices& services, const http::Router& router);
  ~ApiRoutes();
  void add_to(ApiRouter& gate);

 private:
  struct Rooms;
  std::unique_ptr<Rooms> rooms_;
};

}  // namespace harena
