#include "plugins/e2b/gateway.hpp"

namespace harena::e2b {

using http::Request;
using http::ResponseWriter;
using http::Task;

http::Handler Gateway::handler() {
  return [this](Request& request, ResponseWriter& response) { return serve(request, response); };
}

Task<Status> Gateway::serve(Request& request, ResponseWriter& response) {
  auto served = co_await data_plane_.serve(request, response);
  if (!served.ok()) {
    if (response.begun()) co_return std::move(served).error();
    co_return co_await send(response, refusal(served.error()));
  }
  if (*served) co_return ok_status();
  co_return co_await control_.serve(request, response);
}

}  // namespace harena::e2b
