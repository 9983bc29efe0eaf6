#pragma once
// Lenient access to other tools' JSON: what isn't there or has another type is empty.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "sdk/base/result.hpp"

namespace harena::image {

/// invalid_argument for what isn't a JSON object or is nested deeper than 64.
Result<nlohmann::json> parse_foreign(const std::string& bytes, const std::string& what);
std::string text_at(const nlohmann::json& object, const char* key);
nlohmann::json object_at(const nlohmann::json& object, const char* key);
nlohmann::json array_at(const nlohmann::json& object, const char* key);
std::vector<std::string> texts_at(const nlohmann::json& object, const char* key);

}  // namespace harena::image
