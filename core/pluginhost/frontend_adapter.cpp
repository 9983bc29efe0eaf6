#include "core/pluginhost/frontend_adapter.hpp"

#include <algorithm>

namespace harena {

using nlohmann::json;

namespace {

constexpr std::size_t kMaxSamples = 10'000;

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 200 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string prefix_of(const std::string& plugin) {
  std::string name = "harena_" + plugin + "_";
  for (char& c : name) {
    if (!is_name(std::string_view(&c, 1))) c = '_';
  }
  return name;
}

/// Labels of one series; nullopt when they can't be shown.
std::optional<FrontendSample> sample_of(const json& series) {
  if (!series.is_object() || !series.contains("value") || !series["value"].is_number()) return std::nullopt;
  FrontendSample sample;
  sample.value = series["value"].get<double>();
  const auto labels = series.value("labels", json::object());
  if (!labels.is_object()) return std::nullopt;
  for (const auto& [key, value] : labels.items()) {
    if (!is_name(key) || !value.is_string()) return std::nullopt;
    sample.labels.emplace_back(key, clean_text(value.get_ref<const std::string&>(), 256));
  }
  return sample;
}

/// The samples of one metric; what doesn't fit is left out.
void add_samples(const json& metric, const std::string& prefix, std::vector<FrontendSample>& out) {
  if (!metric.is_object()) return;
  const auto text = [&](const char* key) {
    const auto it = metric.find(key);
    return it != metric.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  const auto name = text("name");
  const auto type = text("type");
  if (!is_name(name) || !name.starts_with(prefix) || (type != "counter" && type != "gauge")) return;
  const auto series = metric.value("series", json::array());
  if (!series.is_array()) return;
  for (const auto& one : series) {
    auto sample = sample_of(one);
    if (!sample || out.size() >= kMaxSamples) continue;
    sample->name = name;
    sample->type = type;
    sample->help = clean_text(text("help"), 512);
    out.push_back(*std::move(sample));
  }
}

}  // namespace

Result<std::unique_ptr<FrontendAdapter>> FrontendAdapter::make(std::shared_ptr<const loader::Instance> instance,
                                                               std::string name) {
  HARENA_TRY(const auto table, instance->frontend());
  return std::unique_ptr<FrontendAdapter>(new FrontendAdapter(PluginCaller(std::move(instance)), table, prefix_of(name)));
}

Result<std::vector<std::string>> FrontendAdapter::start(const CallContext& call) {
  std::lock_guard lock(control_);
  HARENA_TRY(const auto document, caller_.call(call, "start", [&](void* self, const harena_call* record) {
    return table_.start(self, record);
  }));
  ResultReader read(caller_, "start", document);
  auto addresses = read.strings("listen");
  read.require(!addresses.empty(), "gave no address on which it listens");
  if (auto wrong = read.error()) return std::move(*wrong);
  for (auto& address : addresses) address = clean_text(address, 256);
  return addresses;
}

Status FrontendAdapter::drain(const CallContext& call) {
  std::lock_guard lock(control_);
  HARENA_TRY_STATUS(caller_.call(call, "drain", [&](void* self, const harena_call* record) {
    return table_.drain(self, record);
  }));
  return ok_status();
}

Result<std::vector<FrontendSample>> FrontendAdapter::metrics(const CallContext& call) {
  std::vector<FrontendSample> samples;
  if (table_.metrics == nullptr) return samples;
  HARENA_TRY(const auto document, caller_.call(call, "metrics", [&](void* self, const harena_call* record) {
    return table_.metrics(self, record);
  }));
  const auto metrics = document.value("metrics", json::array());
  if (!metrics.is_array()) return caller_.broken("metrics", "gave a result whose 'metrics' is no array");
  for (const auto& metric : metrics) add_samples(metric, prefix_, samples);
  return samples;
}

}  // namespace harena
