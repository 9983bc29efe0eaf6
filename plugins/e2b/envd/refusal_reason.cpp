#include "plugins/e2b/envd/refusal_reason.hpp"

#include <nlohmann/json.hpp>

namespace harena::e2b {

using nlohmann::json;

std::string refusal_reason(std::string_view body) {
  const auto document = json::parse(body, nullptr, false);
  const json::json_pointer reason("/error/details/reason");
  if (!document.is_object() || !document.contains(reason) || !document.at(reason).is_string()) return {};
  return document.at(reason).get<std::string>();
}

}  // namespace harena::e2b
