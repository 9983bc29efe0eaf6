#pragma once
// FrontendPlugin: harena.frontend/1 for authors in C++; sdk/abi/frontend.h says what each function promises. HostApi is the
// way into the core; sdk/frontend has a client that stands on it and on sdk/http.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>

#include "sdk/abi/frontend.h"
#include "sdk/base/unique_fd.hpp"
#include "sdk/cpp/guard.hpp"
#include "sdk/cpp/host.hpp"

namespace harena::plugin {

/// Another protocol in front of the API. Stateless beside its listener: see sdk/abi/frontend.h.
class FrontendPlugin {
 public:
  static constexpr std::string_view kContract = HARENA_FRONTEND_CONTRACT;
  virtual ~FrontendPlugin() = default;

  /// [control] Listens. {"listen": ["http://127.0.0.1:7400"]}. All threads and sockets are made here.
  virtual Result<json> start(const Call& call) = 0;
  /// [control] Idempotent, also before start. What runs may end until the deadline (without one: at once).
  virtual Status drain(const Call& call) = 0;
  /// [any] {"metrics": [...]}, from memory.
  virtual Result<json> metrics(const Call&) { return json{{"metrics", json::array()}}; }
};

namespace detail {

template <class Instance>
struct FrontendThunks {
  static FrontendPlugin& of(void* self) { return *static_cast<Instance*>(self)->frontend; }
  static harena_status start(void* self, const harena_call* raw) {
    return guarded(raw, [&](const Call& call) { return of(self).start(call); });
  }
  /// Not through guarded(): a drain that is late, or cancelled, drains all the same.
  static harena_status drain(void* self, const harena_call* raw) {
    if (!is_call(raw)) return HARENA_INVALID_ARGUMENT;
    try {
      const auto outcome = of(self).drain(Call(raw));
      return outcome.ok() ? HARENA_OK : report(raw, outcome.error());
    } catch (...) {
      return report_current_exception(raw);
    }
  }
  static harena_status metrics(void* self, const harena_call* raw) {
    return guarded(raw, [&](const Call& call) { return of(self).metrics(call); });
  }
};

template <class Instance>
harena_frontend make_frontend_table() {
  using Thunks = FrontendThunks<Instance>;
  harena_frontend table{};
  table.struct_size = sizeof(table);
  table.start = &Thunks::start;
  table.drain = &Thunks::drain;
  table.metrics = &Thunks::metrics;
  return table;
}

/// A call to the host, and what came of it.
class HostCall {
 public:
  HostCall() {
    sink_.struct_size = sizeof(sink_);
    sink_.context = this;
    sink_.result = &on_result;
    sink_.error = &on_error;
    record_.struct_size = sizeof(record_);
    record_.sink = &sink_;
  }
  HostCall(const HostCall&) = delete;
  HostCall& operator=(const HostCall&) = delete;
  const harena_call* record() const { return &record_; }
  /// The member `key` of the result document.
  Result<std::string> text(harena_status status, const char* key) {
    if (status != HARENA_OK) return std::move(error_);
    const auto document = json::parse(result_, nullptr, false);
    if (document.is_object() && document.contains(key) && document[key].is_string()) return document[key].get<std::string>();
    return make_error(ErrorCode::internal, std::string("the host's answer has no '") + key + "'");
  }
  Error& error() { return error_; }

 private:
  static void on_result(void* self, harena_str bytes) { static_cast<HostCall*>(self)->result_ = std::string(to_view(bytes)); }
  static void on_error(void* self, const harena_error* raw) {
    auto& error = static_cast<HostCall*>(self)->error_;
    error = make_error(static_cast<ErrorCode>(raw->code), std::string(to_view(raw->message)));
    error.cause = static_cast<Cause>(raw->cause);
    error.retry = static_cast<Retry>(raw->retry);
    error.cause_detail = std::string(to_view(raw->cause_detail));
  }

  harena_sink sink_{};
  harena_call record_{};
  std::string result_;
  Error error_ = make_error(ErrorCode::unknown, "the host failed without saying why");
};

}  // namespace detail

/// The core's API, in process (harena.host.api/1). A small value; valid like Host.
class HostApi {
 public:
  /// failed_precondition when this host has no API to offer.
  static Result<HostApi> of(const Host& host) {
    const auto* api = static_cast<const harena_host_api*>(host.service(HARENA_HOST_API_SERVICE));
    if (HARENA_ABI_HAS(api, connect) && HARENA_ABI_HAS(api, act_for) && HARENA_ABI_HAS(api, secret)) return HostApi(api);
    return make_error(ErrorCode::failed_precondition,
                      "this host doesn't offer " HARENA_HOST_API_SERVICE ", which a frontend asks the core through");
  }

  /// [any][no-block] A connection that speaks HTTP/1.1 as the API's port does. unavailable while the API isn't up.
  Result<UniqueFd> connect() const {
    detail::HostCall call;
    int taken = -1;
    if (api_->connect(api_->context, call.record(), &taken) != HARENA_OK) return std::move(call.error());
    return UniqueFd(taken);
  }
  /// [any][no-block] A credential for one sandbox of this frontend (empty: to list them), see sdk/abi/frontend.h.
  Result<std::string> act_for(std::string_view sandbox_id) const { return ask(api_->act_for, sandbox_id, "token"); }
  /// [any][no-block] 64 hexadecimal digits, the same in every replica.
  Result<std::string> secret(std::string_view purpose) const { return ask(api_->secret, purpose, "secret"); }

 private:
  explicit HostApi(const harena_host_api* api) : api_(api) {}
  template <class Function>
  Result<std::string> ask(Function function, std::string_view about, const char* key) const {
    detail::HostCall call;
    const auto status = function(api_->context, call.record(), to_abi(about));
    return call.text(status, key);
  }

  const harena_host_api* api_;
};

}  // namespace harena::plugin
