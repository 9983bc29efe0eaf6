#include "core/pluginhost/host_api.hpp"

#include <nlohmann/json.hpp>

#include "sdk/loader/invocation.hpp"

namespace harena {
namespace {

bool is_call(const harena_call* call) { return call != nullptr && call->struct_size >= sizeof(harena_call); }

/// A sink that ends before its error callback, or none, gets the code alone.
harena_status tell(const harena_call* call, const Error& error) {
  const auto* sink = call->sink;
  const bool has_error = sink != nullptr && sink->struct_size >= offsetof(harena_sink, error) + sizeof(sink->error);
  const auto status = static_cast<harena_status>(error.code);
  if (!has_error || sink->error == nullptr) return status;
  harena_error raw{};
  raw.struct_size = sizeof(raw);
  raw.code = status;
  raw.message = loader::to_abi(error.message);
  raw.cause = static_cast<std::int32_t>(error.cause);
  raw.retry = static_cast<std::int32_t>(error.retry);
  raw.cause_detail = loader::to_abi(error.cause_detail);
  sink->error(sink->context, &raw);
  return status;
}

harena_status give(const harena_call* call, const char* key, const Result<std::string>& text) {
  if (!text.ok()) return tell(call, text.error());
  const std::string document = nlohmann::json{{key, *text}}.dump();
  const auto* sink = call->sink;
  if (sink != nullptr && sink->result != nullptr) sink->result(sink->context, loader::to_abi(document));
  return HARENA_OK;
}

/// What ours throws must not pass through the plugin.
template <class Body>
harena_status fenced(const harena_call* call, Body body) noexcept {
  if (!is_call(call)) return HARENA_INVALID_ARGUMENT;
  try {
    return body();
  } catch (const std::exception& e) {
    return tell(call, infrastructure_error(ErrorCode::internal, "api", e.what()));
  }
}

Error not_up() {
  auto error = infrastructure_error(ErrorCode::unavailable, "api", "the API of this process isn't up");
  error.retry = Retry::same_node;
  return error;
}

}  // namespace

struct HostApi::Table {
  Table(HostApi& owner, std::string plugin_name) : api(owner), plugin(std::move(plugin_name)) {
    table = {sizeof(table), 0, this, &connect, &act_for, &secret};
  }
  static harena_status connect(void* self, const harena_call* call, int* out_take_stream) noexcept;
  static harena_status act_for(void* self, const harena_call* call, harena_str sandbox_id) noexcept;
  static harena_status secret(void* self, const harena_call* call, harena_str purpose) noexcept;

  HostApi& api;
  const std::string plugin;
  harena_host_api table{};
};

HostApi::HostApi() = default;
HostApi::~HostApi() = default;

const void* HostApi::table(const std::string& plugin) {
  std::lock_guard lock(tables_mutex_);
  auto& made = tables_[plugin];
  if (!made) made = std::make_unique<Table>(*this, plugin);
  return &made->table;
}

void HostApi::open(HostApiParts parts) {
  std::unique_lock lock(mutex_);
  parts_ = std::move(parts);
}

void HostApi::close() {
  std::unique_lock lock(mutex_);
  parts_ = {};
}

template <class Function>
auto HostApi::with_parts(Function function) const -> decltype(function(std::declval<const HostApiParts&>())) {
  std::shared_lock lock(mutex_);
  if (!parts_.connect) return not_up();
  return function(parts_);
}

harena_status HostApi::Table::connect(void* self, const harena_call* call, int* out_take_stream) noexcept {
  return fenced(call, [&] {
    auto& table = *static_cast<Table*>(self);
    auto made = table.api.with_parts([](const HostApiParts& parts) { return parts.connect(); });
    if (!made.ok()) return tell(call, made.error());
    *out_take_stream = made->release();
    return harena_status{HARENA_OK};
  });
}

harena_status HostApi::Table::act_for(void* self, const harena_call* call, harena_str sandbox_id) noexcept {
  return fenced(call, [&] {
    auto& table = *static_cast<Table*>(self);
    const std::string id(loader::to_view(sandbox_id));
    return give(call, "token", table.api.with_parts([&](const HostApiParts& parts) { return parts.act_for(table.plugin, id); }));
  });
}

harena_status HostApi::Table::secret(void* self, const harena_call* call, harena_str purpose) noexcept {
  return fenced(call, [&] {
    auto& table = *static_cast<Table*>(self);
    const std::string about(loader::to_view(purpose));
    return give(call, "secret", table.api.with_parts([&](const HostApiParts& parts) { return parts.secret(table.plugin, about); }));
  });
}

}  // namespace harena
