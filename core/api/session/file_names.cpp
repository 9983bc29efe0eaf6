// Names and attributes: folders, moves, modes, owners, symlinks, removal.

#include "core/api/session/file_parts.hpp"

namespace harena {

using http::Request;
using http::ResponseWriter;
using http::Task;
using nlohmann::json;

Task<Status> remove_file(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto query, request.query());
  session::FileRemoveRequest remove;
  HARENA_CO_TRY_STATUS(take_path_and_user(query, remove));
  HARENA_CO_TRY(remove.recursive, parse_bool(query, "recursive", false));
  HARENA_CO_TRY(auto link, co_await connector.connect());
  HARENA_CO_TRY_STATUS(co_await link.client.remove(remove));
  co_return co_await response.send_json(200, json::object());
}

Task<Status> make_folder(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto body, co_await read_json(request));
  JsonFields fields(body, "the folder");
  session::FileMkdirRequest make;
  HARENA_CO_TRY(make.path, body_path(fields, "path"));
  HARENA_CO_TRY(make.user, fields.string("user", ""));
  HARENA_CO_TRY(make.parents, fields.boolean("parents", false));
  HARENA_CO_TRY(auto mode, fields.string("mode", "0755"));
  HARENA_CO_TRY_STATUS(fields.finish());
  HARENA_CO_TRY(make.mode, parse_mode(mode));
  HARENA_CO_TRY(auto link, co_await connector.connect());
  auto stat = co_await link.client.mkdir(make);
  co_return co_await send_stat(response, std::move(stat));
}

Task<Status> move_file(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto body, co_await read_json(request));
  JsonFields fields(body, "the move");
  session::FileMoveRequest move;
  HARENA_CO_TRY(move.from, body_path(fields, "from"));
  HARENA_CO_TRY(move.to, body_path(fields, "to"));
  HARENA_CO_TRY(move.user, fields.string("user", ""));
  HARENA_CO_TRY(move.replace, fields.boolean("replace", true));
  HARENA_CO_TRY_STATUS(fields.finish());
  HARENA_CO_TRY(auto link, co_await connector.connect());
  auto stat = co_await link.client.move(move);
  co_return co_await send_stat(response, std::move(stat));
}

Task<Status> change_mode(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto body, co_await read_json(request));
  JsonFields fields(body, "the change");
  session::FileChmodRequest change;
  HARENA_CO_TRY(change.path, body_path(fields, "path"));
  HARENA_CO_TRY(change.user, fields.string("user", ""));
  HARENA_CO_TRY(auto mode, fields.string("mode", ""));
  HARENA_CO_TRY_STATUS(fields.finish());
  HARENA_CO_TRY(change.mode, parse_mode(mode));
  HARENA_CO_TRY(auto link, co_await connector.connect());
  auto stat = co_await link.client.chmod(change);
  co_return co_await send_stat(response, std::move(stat));
}

Task<Status> change_owner(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto body, co_await read_json(request));
  JsonFields fields(body, "the change");
  session::FileChownRequest change;
  HARENA_CO_TRY(change.path, body_path(fields, "path"));
  HARENA_CO_TRY(change.user, fields.string("user", ""));
  HARENA_CO_TRY(auto uid, fields.integer("uid", -1, 0, 4'294'967'294));
  HARENA_CO_TRY(auto gid, fields.integer("gid", -1, 0, 4'294'967'294));
  HARENA_CO_TRY_STATUS(fields.finish());
  if (uid < 0 || gid < 0) co_return make_error(ErrorCode::invalid_argument, "'uid' and 'gid' are required");
  change.owner = std::to_string(uid) + ":" + std::to_string(gid);
  HARENA_CO_TRY(auto link, co_await connector.connect());
  auto stat = co_await link.client.chown(change);
  co_return co_await send_stat(response, std::move(stat));
}

Task<Status> make_symlink(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto body, co_await read_json(request));
  JsonFields fields(body, "the symlink");
  session::FileSymlinkRequest make;
  HARENA_CO_TRY(make.path, body_path(fields, "path"));
  HARENA_CO_TRY(make.target, take_bytes(fields, "target"));
  HARENA_CO_TRY(make.user, fields.string("user", ""));
  HARENA_CO_TRY_STATUS(fields.finish());
  HARENA_CO_TRY(auto link, co_await connector.connect());
  auto stat = co_await link.client.symlink(make);
  co_return co_await send_stat(response, std::move(stat));
}

}  // namespace harena
