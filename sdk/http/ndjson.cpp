#include "sdk/http/ndjson.hpp"

#include <nlohmann/json.hpp>

namespace harena::http {

Task<Status> begin_ndjson(ResponseWriter& response) {
  Headers headers;
  headers.set("Content-Type", kNdjsonType);
  headers.set("Cache-Control", "no-store");
  return response.begin(200, std::move(headers));
}

std::string ndjson_line(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace harena::http
