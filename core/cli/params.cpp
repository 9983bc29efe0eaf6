#include "core/cli/params.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/cli/words.hpp"
#include "sdk/base/text.hpp"

namespace harena::cli {

using nlohmann::json;

namespace {

/// The types that a schema allows, through `type` (one or a list), `anyOf`, `oneOf`, `enum` and `const`.
std::vector<std::string> types_of(const json& schema) {
  std::vector<std::string> types;
  if (!schema.is_object()) return types;
  if (const auto type = schema.find("type"); type != schema.end()) {
    if (type->is_string()) types.push_back(*type);
    if (type->is_array()) {
      for (const auto& one : *type) types.push_back(one.get<std::string>());
    }
  }
  for (const char* word : {"anyOf", "oneOf", "allOf"}) {
    for (const auto& part : schema.value(word, json::array())) {
      for (auto& type : types_of(part)) types.push_back(std::move(type));
    }
  }
  return types;
}

std::optional<json> as_number(const std::string& text, bool integral) {
  if (integral) {
    std::int64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure == std::errc() && end == text.data() + text.size()) return json(value);
    const auto size = parse_size(text);
    return size.ok() ? std::optional<json>(*size) : std::nullopt;
  }
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  if (const auto whole = as_number(text, true); whole && text.find_first_of(".eE") == std::string::npos) return whole;
  return json(value);
}

std::optional<json> as_array(const json& schema, const std::string& text) {
  if (text.starts_with('[')) {
    const auto parsed = json::parse(text, nullptr, false);
    return parsed.is_array() ? std::optional<json>(parsed) : std::nullopt;
  }
  const auto item_types = types_of(schema.value("items", json::object()));
  const bool numbers = std::find(item_types.begin(), item_types.end(), "string") == item_types.end() && !item_types.empty();
  json array = json::array();
  for (const auto& part : split(text, ',')) {
    if (!numbers) {
      array.push_back(part);
    } else if (auto number = as_number(part, item_types.front() == "integer")) {
      array.push_back(std::move(*number));
    } else {
      return std::nullopt;
    }
  }
  return array;
}

std::optional<json> as_type(const std::string& type, const json& schema, const std::string& text) {
  if (type == "integer") return as_number(text, true);
  if (type == "number") return as_number(text, false);
  if (type == "boolean") return text == "true" || text == "false" ? std::optional<json>(text == "true") : std::nullopt;
  if (type == "null") return text == "null" ? std::optional<json>(json()) : std::nullopt;
  if (type == "array") return as_array(schema, text);
  if (type == "object") {
    const auto parsed = json::parse(text, nullptr, false);
    return parsed.is_object() ? std::optional<json>(parsed) : std::nullopt;
  }
  return std::nullopt;
}

std::string alternatives(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " or ") + word;
  return text;
}

Result<json> typed_value(const json& schema, const std::string& key, const std::string& text) {
  auto types = types_of(schema);
  const bool text_allowed = types.empty() || std::find(types.begin(), types.end(), "string") != types.end();
  for (const auto& type : types) {
    // "1GiB" stays a text where the backend takes texts: it knows best what it means.
    if (type == "integer" && text_allowed && text.find_first_not_of("-0123456789") != std::string::npos) continue;
    if (auto value = as_type(type, schema, text)) return *std::move(value);
  }
  if (text_allowed) return json(text);
  return make_error(ErrorCode::invalid_argument, "-p " + key + "=" + text + ": '" + text + "' isn't of type " + alternatives(types));
}

}  // namespace

Result<json> typed_params(const json& schema, const std::string& backend, const std::vector<std::string>& pairs) {
  const auto properties = schema.is_object() ? schema.value("properties", json::object()) : json::object();
  std::vector<std::string> known;
  for (const auto& [key, value] : properties.items()) known.push_back(key);
  const bool open = !schema.is_object() || schema.value("additionalProperties", json(true)) != json(false);
  json params = json::object();
  for (const auto& pair : pairs) {
    HARENA_TRY(const auto key_value, parse_pair(pair, "-p"));
    const auto& [key, text] = key_value;
    if (!properties.contains(key) && !open) {
      return make_error(ErrorCode::invalid_argument,
                        "-p " + pair + ": the backend '" + backend + "' has no parameter '" + key + "'" + suggestion(key, known));
    }
    HARENA_TRY(params[key], typed_value(properties.value(key, json::object()), key, text));
  }
  return params;
}

}  // namespace harena::cli
