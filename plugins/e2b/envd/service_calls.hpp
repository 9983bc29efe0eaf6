#pragma once
// From a request to a method of one of the services, and from what it returns to the end of the answer.

#include <chrono>
#include <string>

#include "plugins/e2b/envd/connect/rpc.hpp"
#include "plugins/e2b/envd/envd_call.hpp"

namespace harena::e2b {

/// What keeps a request from being a call of the method at all: 404, 405, 415; true when it was answered so.
http::Task<Result<bool>> refuse_call(EnvdCall& call, bool known, bool streams);

template <class Service>
http::Task<Status> run_method(Service& service, typename Service::Method method, EnvdCall& call, Rpc& rpc) {
  const auto timeout = rpc.timeout();
  if (rpc.streaming() || !timeout || timeout->count() == 0) co_return co_await (service.*method)(call, rpc);
  co_return co_await http::with_timeout((service.*method)(call, rpc), *timeout, "the call");
}

template <class Service>
http::Task<Status> serve_rpc(Service& service, typename Service::Method method, bool streams, EnvdCall& call) {
  Rpc rpc(call.request, call.response);
  HARENA_CO_TRY(const bool refused, co_await refuse_call(call, method != nullptr, streams));
  if (refused) co_return ok_status();
  auto outcome = rpc.open();
  if (outcome.ok()) outcome = co_await run_method(service, method, call, rpc);
  if (!rpc.streaming() && rpc.begun()) co_return outcome;
  co_return co_await rpc.end(std::move(outcome));
}

}  // namespace harena::e2b
