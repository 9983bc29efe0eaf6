#pragma once
// Messages of the session protocol as the API's JSON, and back.

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/model/json_fields.hpp"
#include "sdk/http/request.hpp"
#include "sdk/http/target.hpp"
#include "sdk/session/command_messages.hpp"
#include "sdk/session/file_messages.hpp"

namespace harena {

/// A start request's body holds at most so much, stdin_data included.
inline constexpr std::size_t kMaxStartBodyBytes = 16 << 20;

struct StartBody {
  session::StartRequest request;
  std::optional<std::string> stdin_data;
  bool wait = false;
  bool attach = false;
};

/// The request's body as an object; invalid_argument otherwise. Empty is {}.
http::Task<Result<nlohmann::json>> read_json(http::Request& request, std::size_t limit_bytes = 1 << 20);
Result<StartBody> parse_start(const nlohmann::json& body);

nlohmann::json to_json(const session::CommandInfo& info);
nlohmann::json to_json(const session::ExitStatus& exit);
nlohmann::json to_json(const session::FileStat& stat, bool with_name);
/// [{"name", "value_b64"}, ...]
nlohmann::json xattrs_json(const std::vector<std::pair<std::string, std::string>>& xattrs);

/// object[key] when it is UTF-8, object[key_b64] when not.
void put_bytes(nlohmann::json& object, const std::string& key, std::string_view bytes);
/// The member `key` or `key_b64`; invalid_argument when both or, if required, none.
Result<std::string> take_bytes(JsonFields& fields, const std::string& key);

/// "TERM", "SIGTERM" or "15".
Result<int> parse_signal(std::string_view name);
/// "KILL" for 9; "34" for a number without a name.
std::string signal_name(int signal);
/// "0644": octal digits, at most 07777.
Result<std::uint32_t> parse_mode(std::string_view text);
std::string mode_text(std::uint32_t mode);

Result<bool> parse_bool(const http::Query& query, std::string_view name, bool fallback);
Result<std::uint64_t> parse_number(const http::Query& query, std::string_view name, std::uint64_t fallback);
/// Required.
Result<std::string> parse_path(const http::Query& query);

}  // namespace harena
