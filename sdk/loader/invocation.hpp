#pragma once
// Invocation: one call into a plugin, from the host's side: the call record that goes in, and what came out.
//
//   Invocation call({.deadline_ns = now + 5'000'000'000, .trace_id = trace});
//   harena_status status = backend.create(self, call.record(), to_abi(request));
//   Result<std::string> document = call.finish(status);
//
// finish() turns broken promises of the plugin (a failure without an error, two results, ...) into `internal` errors
// that say so: what a plugin does wrong never looks like a success. Not thread-safe; one Invocation a call.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "sdk/abi/types.h"
#include "sdk/base/result.hpp"

namespace harena::loader {

inline std::string_view to_view(harena_str text) {
  return text.ptr == nullptr ? std::string_view{} : std::string_view(text.ptr, text.len);
}
inline harena_str to_abi(std::string_view text) { return harena_str{text.data(), text.size()}; }

/// An element of a sequence; valid during the callback only.
struct Item {
  std::string_view key;
  std::string_view value;
  std::int64_t revision = 0;
  bool deleted = false;
};

struct CallOptions {
  std::int64_t deadline_ns = 0;  // CLOCK_MONOTONIC; 0: none
  std::uint32_t flags = 0;       // of the call record
  std::string trace_id;
  std::string principal;
  std::function<bool()> cancelled;               // from any thread; empty: never
  std::function<bool(const Item&)> on_item;      // false: no more; empty: items are refused
  std::function<void(std::string_view)> on_progress;
};

class Invocation {
 public:
  explicit Invocation(CallOptions options = {});
  Invocation(const Invocation&) = delete;
  Invocation& operator=(const Invocation&) = delete;

  const harena_call* record() const { return &call_; }
  /// The result document ("" when there was none), or the error. Call once, with what the function returned.
  Result<std::string> finish(harena_status status);

  int results() const { return results_; }
  int errors() const { return errors_; }

 private:
  static void on_result(void* self, harena_str bytes);
  static std::int32_t on_item(void* self, harena_str key, harena_str value, std::int64_t revision);
  static void on_error(void* self, const harena_error* error);
  static void on_progress(void* self, harena_str text);
  static std::int32_t on_cancelled(void* self);
  Error broken(std::string what) const;

  CallOptions options_;
  harena_sink sink_{};
  harena_call call_{};
  int results_ = 0, errors_ = 0;
  std::string result_;
  Error error_;
};

}  // namespace harena::loader
