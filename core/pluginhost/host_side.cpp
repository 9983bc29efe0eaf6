#include "core/pluginhost/host_side.hpp"

#include "core/pluginhost/plugin_caller.hpp"

namespace harena {

using loader::to_view;
using nlohmann::json;

namespace {

constexpr std::size_t kMaxLogBytes = 16 * 1024;
constexpr std::size_t kMaxEventBytes = 64 * 1024;

PluginLogLevel level_of(std::int32_t level) {
  switch (level) {
    case HARENA_LOG_DEBUG: return PluginLogLevel::debug;
    case HARENA_LOG_INFO: return PluginLogLevel::info;
    case HARENA_LOG_WARNING: return PluginLogLevel::warning;
    default: return PluginLogLevel::error;
  }
}

}  // namespace

HostSide::HostSide(std::string plugin, std::shared_ptr<const HostServices> services)
    : plugin_(std::move(plugin)), services_(std::move(services)), backend_(plugin_) {
  record_ = {sizeof(record_), this, &on_log, &on_event, &on_service};
}

void HostSide::set_backend(std::string name) {
  std::lock_guard lock(mutex_);
  backend_ = std::move(name);
}

std::string HostSide::backend() const {
  std::lock_guard lock(mutex_);
  return backend_;
}

void HostSide::log(PluginLogLevel level, const std::string& message) const {
  if (services_->log) services_->log(plugin_, level, message);
}

void HostSide::pass_on(std::string_view text) const {
  if (text.size() > kMaxEventBytes) {
    return log(PluginLogLevel::warning, "dropped an event of " + std::to_string(text.size()) + " bytes");
  }
  auto document = json::parse(text, nullptr, false);
  if (!document.is_object() || !document.contains("type") || !document["type"].is_string()) {
    return log(PluginLogLevel::warning, "dropped an event without a type: " + clean_text(text, 200));
  }
  if (services_->event) services_->event({backend(), std::move(document)});
}

// What ours throws must not pass through the plugin; there is nobody here to tell.

void HostSide::on_log(void* self, std::int32_t level, harena_str message) noexcept {
  try {
    static_cast<HostSide*>(self)->log(level_of(level), clean_text(to_view(message), kMaxLogBytes));
  } catch (...) {
  }
}

void HostSide::on_event(void* self, harena_str text) noexcept {
  try {
    static_cast<HostSide*>(self)->pass_on(to_view(text));
  } catch (...) {
  }
}

const void* HostSide::on_service(void* self, harena_str id) noexcept {
  try {
    const auto& me = *static_cast<HostSide*>(self);
    const std::string wanted(to_view(id));
    const auto it = me.services_->services.find(wanted);
    if (it != me.services_->services.end()) return it->second;
    return me.services_->service ? me.services_->service(me.plugin_, wanted) : nullptr;
  } catch (...) {
    return nullptr;
  }
}

}  // namespace harena
