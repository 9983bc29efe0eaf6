#include "plugins/e2b/control/fields.hpp"

#include <cmath>

namespace harena::e2b {

using nlohmann::json;

namespace {

constexpr std::size_t kShownBytes = 80;

std::optional<std::int64_t> whole(const json& value) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();
  if (std::abs(number) > 9e15 || number != std::floor(number)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

}  // namespace

const json* Fields::find(const char* key) {
  known_.insert(key);
  const auto it = object_.find(key);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

Error Fields::wrong(const char* key, const json& value, const char* right) const {
  auto shown = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (shown.size() > kShownBytes) shown = shown.substr(0, kShownBytes) + "...";
  return make_error(ErrorCode::invalid_argument, prefix_ + key + " is " + shown + "; it must be " + right);
}

Result<std::optional<std::string>> Fields::text(const char* key) {
  const json* value = find(key);
  if (value == nullptr) return std::optional<std::string>();
  if (value->is_string()) return std::optional(value->get<std::string>());
  return wrong(key, *value, "a string");
}

Result<std::optional<std::int64_t>> Fields::integer(const char* key) {
  const json* value = find(key);
  if (value == nullptr) return std::optional<std::int64_t>();
  if (const auto number = whole(*value)) return number;
  return wrong(key, *value, "a whole number");
}

Result<std::optional<bool>> Fields::boolean(const char* key) {
  const json* value = find(key);
  if (value == nullptr) return std::optional<bool>();
  if (value->is_boolean()) return std::optional(value->get<bool>());
  return wrong(key, *value, "true or false");
}

Result<std::optional<std::map<std::string, std::string>>> Fields::text_map(const char* key) {
  std::map<std::string, std::string> map;
  const json* value = find(key);
  if (value == nullptr) return std::optional<std::map<std::string, std::string>>();
  if (!value->is_object()) return wrong(key, *value, "an object of strings");
  for (const auto& [name, text] : value->items()) {
    if (!text.is_string()) return wrong((key + ("." + name)).c_str(), text, "a string");
    map[name] = text.get<std::string>();
  }
  return std::optional(std::move(map));
}

Result<std::vector<std::string>> Fields::texts(const char* key) {
  std::vector<std::string> list;
  const json* value = find(key);
  if (value == nullptr) return list;
  if (!value->is_array()) return wrong(key, *value, "an array of strings");
  for (const auto& text : *value) {
    if (!text.is_string()) return wrong(key, text, "an array of strings");
    list.push_back(text.get<std::string>());
  }
  return list;
}

Result<json> Fields::object(const char* key) {
  const json* value = find(key);
  if (value == nullptr) return json();
  if (value->is_object()) return *value;
  return wrong(key, *value, "an object");
}

Result<json> Fields::array(const char* key) {
  const json* value = find(key);
  if (value == nullptr) return json();
  if (value->is_array()) return *value;
  return wrong(key, *value, "an array");
}

void Fields::done() const {
  for (const auto& [key, value] : object_.items()) {
    if (!known_.contains(key)) counters_.unknown_field(operation_, prefix_ + key);
  }
}

}  // namespace harena::e2b
