#include "plugins/e2b/counters.hpp"

namespace harena::e2b {

using nlohmann::json;

namespace {

json metric(const char* name, const char* help, const char* first, const char* second,
            const std::map<std::pair<std::string, std::string>, std::uint64_t>& series) {
  json list = json::array();
  for (const auto& [labels, value] : series) {
    list.push_back({{"labels", {{first, labels.first}, {second, labels.second}}}, {"value", value}});
  }
  return {{"name", name}, {"help", help}, {"type", "counter"}, {"series", std::move(list)}};
}

json gauge(const char* name, const char* help, const char* label, const std::map<std::string, std::size_t>& values) {
  json list = json::array();
  for (const auto& [of, value] : values) list.push_back({{"labels", {{label, of}}}, {"value", value}});
  return {{"name", name}, {"help", help}, {"type", "gauge"}, {"series", std::move(list)}};
}

}  // namespace

void Counters::answered(const std::string& operation, int status) {
  std::lock_guard lock(mutex_);
  ++requests_[{operation, std::to_string(status)}];
}

void Counters::unknown_field(const std::string& operation, const std::string& field) {
  std::lock_guard lock(mutex_);
  const std::pair<std::string, std::string> key{operation, field.substr(0, 64)};
  const bool known = fields_.contains(key) || fields_.size() < kMaxFields;
  ++fields_[known ? key : std::pair<std::string, std::string>{"other", "other"}];
}

void Counters::warm(const std::string& template_id, const std::string& outcome) {
  std::lock_guard lock(mutex_);
  ++warm_[{template_id, outcome}];
}

void Counters::warm_ready(const std::string& template_id, std::size_t count) {
  std::lock_guard lock(mutex_);
  warm_ready_[template_id] = count;
}

json Counters::metrics() const {
  std::lock_guard lock(mutex_);
  return {{"metrics",
           {metric("harena_e2b_requests_total", "Requests by operation and status.", "operation", "status", requests_),
            metric("harena_e2b_unknown_fields_total", "Request fields that were ignored.", "operation", "field", fields_),
            metric("harena_e2b_warm_total", "Sandboxes of templates' pools, by what became of them.", "template", "outcome", warm_),
            gauge("harena_e2b_warm_ready", "Sandboxes that are ready for a create.", "template", warm_ready_)}}};
}

}  // namespace harena::e2b
