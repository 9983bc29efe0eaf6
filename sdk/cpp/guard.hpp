#pragma once
// The inside of every thunk: runs a body, lets no exception out, and sees to it that a failure has exactly one
// sink->error and a success at most one sink->result.

#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "sdk/cpp/call.hpp"

namespace harena::plugin::detail {

inline harena_status report(const harena_call* raw, ErrorCode code, std::string_view message, Cause cause,
                            Retry retry, std::string_view cause_detail) noexcept {
  // ok can't be a failure: an Error without a code is the plugin's mistake, not a success.
  auto status = static_cast<harena_status>(code == ErrorCode::ok ? ErrorCode::unknown : code);
  if (raw == nullptr || !HARENA_ABI_HAS(raw->sink, error)) return status;
  harena_error error{};
  error.struct_size = sizeof(error);
  error.code = status;
  error.message = to_abi(message);
  error.cause = static_cast<std::int32_t>(cause);
  error.retry = static_cast<std::int32_t>(retry);
  error.cause_detail = to_abi(cause_detail);
  raw->sink->error(raw->sink->context, &error);
  return status;
}

inline harena_status report(const harena_call* raw, const Error& error) noexcept {
  try {
    std::string message;
    for (auto it = error.context.rbegin(); it != error.context.rend(); ++it) message += *it + ": ";
    message += error.message;
    return report(raw, error.code, message, error.cause, error.retry, error.cause_detail);
  } catch (...) {  // no memory for the chain: the message alone
    return report(raw, error.code, error.message, error.cause, error.retry, error.cause_detail);
  }
}

inline harena_status report_current_exception(const harena_call* raw) noexcept {
  auto fail = [raw](ErrorCode code, const char* text) {
    return report(raw, code, text, Cause::infrastructure, Retry::never, "plugin");
  };
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::resource_exhausted, "the plugin ran out of memory");
  } catch (const std::exception& e) {
    return fail(ErrorCode::internal, e.what());
  } catch (...) {
    return fail(ErrorCode::unknown, "the plugin threw something that is not a std::exception");
  }
}

/// A call record of the size that this plugin was built with; a newer host's may be larger.
inline bool is_call(const harena_call* raw) { return raw != nullptr && raw->struct_size >= sizeof(harena_call); }

/// `body(const Call&)` returns a Status, or a Result<json> whose document becomes the call's result.
template <class Body>
harena_status guarded(const harena_call* raw, Body&& body) noexcept {
  if (!is_call(raw)) return HARENA_INVALID_ARGUMENT;
  try {
    Call call(raw);
    if (auto live = call.check(); !live.ok()) return report(raw, live.error());
    auto outcome = std::forward<Body>(body)(call);
    if (!outcome.ok()) return report(raw, outcome.error());
    if constexpr (!std::is_same_v<decltype(outcome), Status>) {
      std::string text = outcome->dump();  // throws when a text isn't UTF-8
      if (HARENA_ABI_HAS(raw->sink, result)) raw->sink->result(raw->sink->context, to_abi(text));
    }
    return HARENA_OK;
  } catch (...) {
    return report_current_exception(raw);
  }
}

/// The JSON of an input; invalid_argument (of the host) says what it was meant to be and where it breaks.
inline Result<json> parse_input(harena_str text, std::string_view what) {
  try {
    return json::parse(to_view(text));
  } catch (const json::parse_error& e) {
    return make_error(ErrorCode::invalid_argument, std::string(what) + " isn't JSON: " + e.what());
  }
}

}  // namespace harena::plugin::detail
