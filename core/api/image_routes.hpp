#pragma once
// Images over HTTP: list, look at, import, tag, remove.

#include "core/api/call.hpp"
#include "core/api/endpoint.hpp"
#include "core/api/services.hpp"

namespace harena {

class ImageRoutes {
 public:
  explicit ImageRoutes(ApiServices& services) : services_(services) {}
  void add_to(ApiRouter& router);

 private:
  using Answer = http::Task<Result<Reply>>;
  Answer list(ApiCall& call);
  Answer get(ApiCall& call);
  Answer import(ApiCall& call);
  Answer tag(ApiCall& call);
  Answer remove(ApiCall& call);

  ApiServices& services_;
};

}  // namespace harena
