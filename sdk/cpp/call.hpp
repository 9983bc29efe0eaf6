#pragma once
// Call: what a plugin knows about the call that it is in, and where it puts what isn't the return value.
//
//   Result<json> create(const Call& call, const json& request) override {
//     for (auto& layer : layers) {
//       HARENA_TRY_STATUS(call.check());          // ends a cancelled or late call
//       call.progress({{"stage", "mount"}, {"done", ++done}});
//       ...
//
// A Call is valid until its function returns and belongs to that function's thread: never keep it, never
// use it from another thread (cancelled() and deadline_ns() alone are free of this).

#include <ctime>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <type_traits>

#include "sdk/abi/types.h"
#include "sdk/base/result.hpp"
#include "sdk/cpp/text.hpp"

namespace harena::plugin {

using json = nlohmann::json;

class Call {
 public:
  explicit Call(const harena_call* raw) : raw_(raw) {}

  /// CLOCK_MONOTONIC in nanoseconds; 0: none.
  std::int64_t deadline_ns() const { return raw_->deadline_ns; }
  /// Milliseconds until the deadline, never negative; `when_none` without a deadline. For poll and the like.
  std::int64_t remaining_ms(std::int64_t when_none) const {
    if (raw_->deadline_ns == 0) return when_none;
    std::int64_t left = raw_->deadline_ns - now_ns();
    return left <= 0 ? 0 : (left + 999'999) / 1'000'000;
  }
  bool past_deadline() const { return raw_->deadline_ns != 0 && now_ns() >= raw_->deadline_ns; }
  bool cancelled() const { return raw_->cancelled != nullptr && raw_->cancelled(raw_->cancel_context) != 0; }
  /// cancelled or deadline_exceeded when this call should end: undo what is half-made and return it.
  Status check() const {
    if (cancelled()) return make_error(ErrorCode::cancelled, "the caller cancelled the call");
    if (past_deadline()) return late();
    return ok_status();
  }

  /// Of the contract's bits; those that a plugin doesn't know mean nothing.
  bool has_flag(std::uint32_t flag) const { return (raw_->flags & flag) != 0; }

  std::string_view trace_id() const { return to_view(raw_->trace_id); }
  /// Who asked, as the core established it; empty for the core's own work.
  std::string_view principal() const { return to_view(raw_->principal); }

  /// Tells the caller how far a long call is, e.g. {"stage":"unpack","done_bytes":1,"total_bytes":2}.
  void progress(const json& document) const {
    if (!HARENA_ABI_HAS(raw_->sink, progress)) return;
    std::string text = document.dump();
    raw_->sink->progress(raw_->sink->context, to_abi(text));
  }
  /// One element of a sequence. cancelled when the caller wants no more: return it.
  Status emit(std::string_view key, std::string_view value, std::int64_t revision = 0) const {
    // An empty view may hold a null pointer, which would mean a deletion.
    return emit_raw(key, value.data() == nullptr ? harena_str{"", 0} : to_abi(value), revision);
  }
  /// The element that tells of a deletion (state-store watch).
  Status emit_deleted(std::string_view key, std::int64_t revision) const {
    return emit_raw(key, harena_str{nullptr, 0}, revision);
  }

  const harena_call* raw() const { return raw_; }

 private:
  static std::int64_t now_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);  // the deadline's clock by contract; a vDSO read
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  }
  Status late() const {
    Error error = make_error(ErrorCode::deadline_exceeded, "the deadline of the call has passed");
    error.retry = Retry::same_node;
    return error;
  }
  Status emit_raw(std::string_view key, harena_str value, std::int64_t revision) const {
    if (!HARENA_ABI_HAS(raw_->sink, item)) return make_error(ErrorCode::internal, "the call's sink takes no items");
    if (raw_->sink->item(raw_->sink->context, to_abi(key), value, revision) == 0) return ok_status();
    return make_error(ErrorCode::cancelled, "the caller wants no more items");
  }

  const harena_call* raw_;
};

}  // namespace harena::plugin
