#pragma once
// GET /v1/events: the trail (core/store/event_repository.hpp).

#include "core/api/call.hpp"
#include "core/api/endpoint.hpp"
#include "core/api/services.hpp"

namespace harena {

class EventRoutes {
 public:
  explicit EventRoutes(ApiServices& services) : services_(services) {}
  void add_to(ApiRouter& router);

 private:
  http::Task<Result<Reply>> list(ApiCall& call);

  ApiServices& services_;
};

}  // namespace harena
