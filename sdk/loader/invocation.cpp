#include "sdk/loader/invocation.hpp"

namespace harena::loader {
namespace {

Invocation& of(void* self) { return *static_cast<Invocation*>(self); }

template <class Enum>
Enum in_range(std::int32_t value, std::int32_t most) {
  return static_cast<Enum>(value < 0 || value > most ? 0 : value);
}

}  // namespace

Invocation::Invocation(CallOptions options) : options_(std::move(options)) {
  sink_ = {sizeof(sink_), this, &on_result, &on_item, &on_error, &on_progress};
  call_.struct_size = sizeof(call_);
  call_.flags = options_.flags;
  call_.deadline_ns = options_.deadline_ns;
  if (options_.cancelled) call_.cancelled = &on_cancelled, call_.cancel_context = this;
  call_.trace_id = to_abi(options_.trace_id);
  call_.principal = to_abi(options_.principal);
  call_.sink = &sink_;
}

Result<std::string> Invocation::finish(harena_status status) {
  if (status == HARENA_OK) {
    if (errors_ > 0) return broken("made an error and returned ok: " + error_.message);
    if (results_ > 1) return broken("made " + std::to_string(results_) + " results; at most one is right");
    return std::move(result_);
  }
  if (status < 0 || status > HARENA_UNAUTHENTICATED) {
    return broken("returned the status " + std::to_string(status) + "; 0 to 16 are right");
  }
  if (errors_ == 0) {
    return broken("returned " + std::string(to_string(static_cast<ErrorCode>(status))) + " without an error in the sink");
  }
  if (errors_ > 1) return broken("made " + std::to_string(errors_) + " errors; exactly one is right. The last: " + error_.message);
  if (static_cast<harena_status>(error_.code) != status) {
    return broken("returned " + std::string(to_string(static_cast<ErrorCode>(status))) + " but its error says " +
                  std::string(to_string(error_.code)) + ": " + error_.message);
  }
  return std::move(error_);
}

Error Invocation::broken(std::string what) const {
  return infrastructure_error(ErrorCode::internal, "plugin", "the plugin broke its contract: it " + std::move(what));
}

void Invocation::on_result(void* self, harena_str bytes) {
  of(self).results_++;
  of(self).result_ = to_view(bytes);
}

std::int32_t Invocation::on_item(void* self, harena_str key, harena_str value, std::int64_t revision) {
  auto& callback = of(self).options_.on_item;
  if (!callback) return 1;
  return callback(Item{to_view(key), to_view(value), revision, value.ptr == nullptr}) ? 0 : 1;
}

void Invocation::on_error(void* self, const harena_error* error) {
  of(self).errors_++;
  if (error == nullptr || error->struct_size < sizeof(harena_error)) return;
  Error& kept = of(self).error_;
  kept.code = static_cast<ErrorCode>(error->code);
  kept.message = to_view(error->message);
  kept.cause = in_range<Cause>(error->cause, HARENA_CAUSE_INFRASTRUCTURE);
  kept.retry = in_range<Retry>(error->retry, HARENA_RETRY_OTHER_NODE);
  kept.cause_detail = to_view(error->cause_detail);
}

void Invocation::on_progress(void* self, harena_str text) {
  if (of(self).options_.on_progress) of(self).options_.on_progress(to_view(text));
}

std::int32_t Invocation::on_cancelled(void* self) { return of(self).options_.cancelled() ? 1 : 0; }

}  // namespace harena::loader
