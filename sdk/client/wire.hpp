#pragma once
// How values travel in the API's JSON and queries (docs/http-api.md).

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "sdk/base/result.hpp"

namespace harena::client {

using nlohmann::json;

/// The `error` object of an answer. `cause_detail` is details.cause_detail or, where there is none, details.reason
/// (`no_such_program`, `port_closed`, ...). Whatever is odd about it, the result is an error that can be shown.
Error error_from_json(const json& error, int status);

/// Sets `key`, or `key_b64` when `bytes` isn't UTF-8.
void put_bytes(json& object, const std::string& key, std::string_view bytes);
/// `key`, or `key_b64` decoded; nullopt when neither is there or it is malformed.
std::optional<std::string> get_bytes(const json& object, const std::string& key);
/// `object[key]` as text; `fallback` when it is absent, null or of another type.
std::string text_or(const json& object, const char* key, std::string fallback = "");

/// `?a=b&c=d`, percent-encoded for any byte; pairs with an empty value are left out.
std::string query(const std::vector<std::pair<std::string, std::string>>& pairs);

/// `data_loss` when `text` isn't JSON.
Result<json> parse_json(std::string_view text);

}  // namespace harena::client
