#include "core/model/json_fields.hpp"

#include "sdk/base/text.hpp"

namespace harena {

using nlohmann::json;

JsonFields::JsonFields(const json& object, std::string what) : object_(object), what_(std::move(what)) {}

const json* JsonFields::find(const std::string& key) {
  known_.insert(key);
  if (!object_.is_object()) return nullptr;
  const auto it = object_.find(key);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

bool JsonFields::has(const std::string& key) const {
  return object_.is_object() && object_.contains(key) && !object_.at(key).is_null();
}

Error JsonFields::wrong(const std::string& key, const json& value, const std::string& right) const {
  const std::string shown = value.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 80);
  return make_error(ErrorCode::invalid_argument, what_ + ": '" + key + "' is " + shown + "; it must be " + right);
}

Result<std::string> JsonFields::string(const std::string& key, std::string fallback) {
  const json* value = find(key);
  if (!value) return fallback;
  if (!value->is_string()) return wrong(key, *value, "a string");
  return value->get<std::string>();
}

Result<std::int64_t> JsonFields::integer(const std::string& key, std::int64_t fallback, std::int64_t min,
                                         std::int64_t max) {
  const json* value = find(key);
  if (!value) return fallback;
  const std::string right = "a whole number from " + std::to_string(min) + " to " + std::to_string(max);
  const bool too_large = value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX;
  if (!value->is_number_integer() || too_large) return wrong(key, *value, right);
  const auto number = value->get<std::int64_t>();
  if (number < min || number > max) return wrong(key, *value, right);
  return number;
}

Result<bool> JsonFields::boolean(const std::string& key, bool fallback) {
  const json* value = find(key);
  if (!value) return fallback;
  if (!value->is_boolean()) return wrong(key, *value, "true or false");
  return value->get<bool>();
}

Result<std::vector<std::string>> JsonFields::strings(const std::string& key) {
  std::vector<std::string> list;
  const json* value = find(key);
  if (!value) return list;
  if (!value->is_array()) return wrong(key, *value, "an array of strings");
  for (const auto& element : *value) {
    if (!element.is_string()) return wrong(key, *value, "an array of strings");
    list.push_back(element.get<std::string>());
  }
  return list;
}

Result<std::map<std::string, std::string>> JsonFields::string_map(const std::string& key) {
  std::map<std::string, std::string> map;
  const json* value = find(key);
  if (!value) return map;
  if (!value->is_object()) return wrong(key, *value, "an object of strings");
  for (const auto& [name, element] : value->items()) {
    if (!element.is_string()) return wrong(key + "." + name, element, "a string");
    map[name] = element.get<std::string>();
  }
  return map;
}

Result<json> JsonFields::object(const std::string& key) {
  const json* value = find(key);
  if (!value) return json::object();
  if (!value->is_object()) return wrong(key, *value, "an object");
  return *value;
}

Status JsonFields::finish() const {
  if (!object_.is_object()) {
    return make_error(ErrorCode::invalid_argument, what_ + " must be a JSON object, not " + object_.type_name());
  }
  const std::vector<std::string> names(known_.begin(), known_.end());
  for (const auto& [key, value] : object_.items()) {
    if (known_.contains(key)) continue;
    return make_error(ErrorCode::invalid_argument,
                      what_ + " has an unknown key '" + key.substr(0, 80) + "'" + suggestion(key, names));
  }
  return ok_status();
}

}  // namespace harena
