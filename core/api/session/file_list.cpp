// What a path is, and what is in a folder.

#include "core/api/session/file_parts.hpp"
#include "sdk/base/text.hpp"

namespace harena {

using http::Request;
using http::ResponseWriter;
using http::Task;
using nlohmann::json;

Task<Status> stat_file(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto query, request.query());
  session::FilePathRequest look;
  HARENA_CO_TRY_STATUS(take_path_and_user(query, look));
  HARENA_CO_TRY(look.follow, parse_bool(query, "follow", false));
  HARENA_CO_TRY(auto link, co_await connector.connect());
  auto stat = co_await link.client.stat(look);
  co_return co_await send_stat(response, std::move(stat));
}

Task<Status> list_files(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto query, request.query());
  session::FileListRequest list;
  HARENA_CO_TRY_STATUS(take_path_and_user(query, list));
  HARENA_CO_TRY(list.recursive, parse_bool(query, "recursive", false));
  HARENA_CO_TRY(auto limit, parse_int(query.get("limit").value_or("1000"), 1, session::kMaxListEntries, "limit"));
  list.limit = static_cast<std::uint32_t>(limit);
  list.xattrs = query.get("xattrs").value_or("");
  // The cursor may hold any byte, so it travels as base64.
  auto cursor = base64_decode(query.get("cursor").value_or(""));
  if (!cursor) co_return make_error(ErrorCode::invalid_argument, "cursor: not the next_cursor of a list: " + cursor.error().message);
  list.cursor = *std::move(cursor);
  HARENA_CO_TRY(auto link, co_await connector.connect());
  HARENA_CO_TRY(auto listing, co_await link.client.list_files(list));
  json entries = json::array();
  std::string folder = list.path.back() == '/' ? list.path : list.path + "/";
  for (auto& entry : listing.entries) {
    entry.path = folder + entry.path;
    entries.push_back(to_json(entry, true));
  }
  json answer = json::object();
  answer["entries"] = std::move(entries);
  answer["next_cursor"] = base64_encode(listing.cursor);
  co_return co_await response.send_json(200, answer);
}

}  // namespace harena
