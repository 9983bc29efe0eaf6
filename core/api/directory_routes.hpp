#pragma once
// Projects, tokens and whoami over HTTP. core/iam authorises each call itself.

#include "core/api/call.hpp"
#include "core/api/endpoint.hpp"
#include "core/api/services.hpp"

namespace harena {

class DirectoryRoutes {
 public:
  explicit DirectoryRoutes(ApiServices& services) : services_(services) {}
  void add_to(ApiRouter& router);

 private:
  using Answer = http::Task<Result<Reply>>;
  Answer whoami(ApiCall& call);
  Answer list_projects(ApiCall& call);
  Answer create_project(ApiCall& call);
  Answer remove_project(ApiCall& call);
  Answer list_tokens(ApiCall& call);
  Answer create_token(ApiCall& call);
  Answer revoke_token(ApiCall& call);

  ApiServices& services_;
};

}  // namespace harena
