#pragma once
// An API for frontends under test: answers every request with 401, as the core does to a credential that it doesn't know.

#include <atomic>
#include <memory>
#include <string>

#include "sdk/abi/frontend.h"
#include "sdk/http/server.hpp"

namespace harena::conformance {

/// harena.host.api/1. Thread-safe. Made in a case's own process: it starts a thread.
class ApiDouble {
 public:
  ApiDouble();
  ApiDouble(const ApiDouble&) = delete;
  ApiDouble& operator=(const ApiDouble&) = delete;

  const void* table() const { return &table_; }
  /// From now on connect() says unavailable.
  void take_down() { up_ = false; }
  int requests() const { return requests_; }

 private:
  static harena_status connect(void* self, const harena_call* call, int* out_take_stream);
  static harena_status text(void* self, const harena_call* call, harena_str about);

  http::IoThreads io_{1};
  std::unique_ptr<http::Server> server_;
  std::atomic<bool> up_{true};
  std::atomic<int> requests_{0};
  harena_host_api table_{};
};

}  // namespace harena::conformance
