// Extended attributes. Their values are bytes, so a body is one value, raw, and a list has them in base64.

#include "core/api/session/file_parts.hpp"
#include "sdk/base/text.hpp"

namespace harena {

using http::Request;
using http::ResponseWriter;
using http::Task;
using nlohmann::json;

namespace {

/// path, user, follow and name of a query.
template <class Message>
Status take_named(const http::Query& query, Message& message) {
  HARENA_TRY_STATUS(take_path_and_user(query, message));
  HARENA_TRY(message.follow, parse_bool(query, "follow", false));
  message.name = std::string(query.get("name").value_or(""));
  if (!message.name.empty()) return {};
  return make_error(ErrorCode::invalid_argument, "?name= is missing: the attribute with its namespace, such as user.origin");
}

}  // namespace

Task<Status> list_xattrs(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto query, request.query());
  session::FileXattrListRequest list;
  HARENA_CO_TRY_STATUS(take_path_and_user(query, list));
  HARENA_CO_TRY(list.follow, parse_bool(query, "follow", false));
  HARENA_CO_TRY(auto link, co_await connector.connect());
  HARENA_CO_TRY(auto found, co_await link.client.xattrs(list));
  json answer = json::object();
  answer["xattrs"] = xattrs_json(found.xattrs);
  co_return co_await response.send_json(200, answer);
}

Task<Status> set_xattr(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto query, request.query());
  session::FileXattrSetRequest set;
  HARENA_CO_TRY_STATUS(take_named(query, set));
  HARENA_CO_TRY(set.value, co_await request.read_all(session::kMaxXattrValueBytes));
  HARENA_CO_TRY(auto link, co_await connector.connect());
  HARENA_CO_TRY_STATUS(co_await link.client.set_xattr(set));
  co_return co_await response.send_json(200, json::object());
}

Task<Status> remove_xattr(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto query, request.query());
  session::FileXattrRemoveRequest remove;
  HARENA_CO_TRY_STATUS(take_named(query, remove));
  HARENA_CO_TRY(auto link, co_await connector.connect());
  HARENA_CO_TRY_STATUS(co_await link.client.remove_xattr(remove));
  co_return co_await response.send_json(200, json::object());
}

}  // namespace harena
