// Files through the API.

#include <charconv>

#include "core/api/session/handlers.hpp"
#include "core/api/session/session_json.hpp"
#include "sdk/base/text.hpp"

namespace harena {

using http::Request;
using http::ResponseWriter;
using http::Task;
using nlohmann::json;

namespace {

struct Range {
  std::uint64_t first = 0;
  std::uint64_t length = 0;
};

std::optional<std::uint64_t> digits(std::string_view text) {
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// One byte range of RFC 9110 (14.1.2); nullopt for what a server ignores: another unit, several ranges, malformed. out_of_range when it
/// can't be satisfied.
Result<std::optional<Range>> parse_range(std::string_view header, std::uint64_t size) {
  if (!header.starts_with("bytes=") || header.find(',') != std::string_view::npos) return std::optional<Range>();
  header.remove_prefix(6);
  auto dash = header.find('-');
  if (dash == std::string_view::npos) return std::optional<Range>();
  auto first = digits(header.substr(0, dash)), last = digits(header.substr(dash + 1));
  bool suffix = dash == 0;
  bool open = dash + 1 == header.size();
  if ((suffix && !last) || (!suffix && !first) || (!suffix && !open && !last) || (first && last && *last < *first)) {
    return std::optional<Range>();
  }
  Range range;
  range.first = suffix ? size - std::min(size, *last) : *first;
  if (range.first >= size) {
    return make_error(ErrorCode::out_of_range, "range starts at byte " + std::to_string(range.first) + " of a file of " + std::to_string(size));
  }
  std::uint64_t end = suffix || open ? size : std::min(size, *last + 1);
  range.length = end - range.first;
  return std::optional<Range>(range);
}

std::string text_of(const http::Query& query, std::string_view name) { return std::string(query.get(name).value_or("")); }

Task<Status> send_bytes(ResponseWriter& response, session::FileReader& reader) {
  for (;;) {
    HARENA_CO_TRY(auto bytes, co_await reader.next());
    if (bytes.empty()) co_return co_await response.finish();
    HARENA_CO_TRY_STATUS(co_await response.write(bytes));
  }
}

Task<Status> send_stat(ResponseWriter& response, Result<session::FileStat> stat) {
  if (!stat) co_return std::move(stat).error();
  co_return co_await response.send_json(200, to_json(*stat, true));
}

/// `path` (or another key) of a body, absolute.
Result<std::string> body_path(JsonFields& fields, const std::string& key) {
  HARENA_TRY(auto path, take_bytes(fields, key));
  if (path.empty()) return make_error(ErrorCode::invalid_argument, "'" + key + "' is required");
  if (path.front() != '/') return make_error(ErrorCode::invalid_argument, "'" + key + "' is '" + path + "', which isn't absolute");
  return path;
}

}  // namespace

Task<Status> read_file(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto query, request.query());
  HARENA_CO_TRY_STATUS(query.allow_only({"path", "user"}));
  session::FileReadRequest read;
  HARENA_CO_TRY(read.path, parse_path(query));
  read.user = text_of(query, "user");
  HARENA_CO_TRY(auto link, co_await connector.connect());
  std::optional<Range> range;
  std::uint64_t size = 0;
  if (auto header = request.header("Range")) {
    session::FilePathRequest look;
    look.path = read.path;
    look.user = read.user;
    look.follow = true;
    HARENA_CO_TRY(auto stat, co_await link.client.stat(look));
    HARENA_CO_TRY(range, parse_range(*header, stat.size));
    size = stat.size;
  }
  if (range) {
    read.offset = range->first;
    read.length = range->length;
  }
  HARENA_CO_TRY(auto reader, co_await link.client.read_file(read));
  http::Headers headers;
  headers.set("Content-Type", "application/octet-stream");
  headers.set("Accept-Ranges", "bytes");
  std::uint64_t length = range ? range->length : reader.stat().size;
  if (range) {
    headers.set("Content-Range", "bytes " + std::to_string(range->first) + "-" + std::to_string(range->first + length - 1) + "/" + std::to_string(size));
  }
  HARENA_CO_TRY_STATUS(co_await response.begin(range ? 206 : 200, std::move(headers), length));
  if (request.method() == "HEAD") co_return co_await response.finish();
  co_return co_await send_bytes(response, reader);
}

Task<Status> write_file(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto query, request.query());
  HARENA_CO_TRY_STATUS(query.allow_only({"path", "user", "mode", "parents", "exclusive"}));
  session::FileWriteRequest write;
  HARENA_CO_TRY(write.path, parse_path(query));
  write.user = text_of(query, "user");
  HARENA_CO_TRY(write.parents, parse_bool(query, "parents", false));
  HARENA_CO_TRY(write.exclusive, parse_bool(query, "exclusive", false));
  if (auto mode = query.get("mode")) {
    HARENA_CO_TRY(write.mode, parse_mode(*mode));
  }
  HARENA_CO_TRY(auto link, co_await connector.connect());
  HARENA_CO_TRY(auto writer, co_await link.client.write_file(write));
  std::vector<std::byte> buffer(256 << 10);
  for (;;) {
    HARENA_CO_TRY(auto got, co_await request.read(buffer));
    if (got == 0) break;
    HARENA_CO_TRY_STATUS(co_await writer.write(std::string_view(reinterpret_cast<const char*>(buffer.data()), got)));
  }
  auto stat = co_await writer.finish();
  co_return co_await send_stat(response, std::move(stat));
}

Task<Status> remove_file(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto query, request.query());
  HARENA_CO_TRY_STATUS(query.allow_only({"path", "user", "recursive"}));
  session::FileRemoveRequest remove;
  HARENA_CO_TRY(remove.path, parse_path(query));
  remove.user = text_of(query, "user");
  HARENA_CO_TRY(remove.recursive, parse_bool(query, "recursive", false));
  HARENA_CO_TRY(auto link, co_await connector.connect());
  HARENA_CO_TRY_STATUS(co_await link.client.remove(remove));
  co_return co_await response.send_json(200, json::object());
}

Task<Status> stat_file(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto query, request.query());
  HARENA_CO_TRY_STATUS(query.allow_only({"path", "user"}));
  session::FilePathRequest look;
  HARENA_CO_TRY(look.path, parse_path(query));
  look.user = text_of(query, "user");
  HARENA_CO_TRY(auto link, co_await connector.connect());
  auto stat = co_await link.client.stat(look);
  co_return co_await send_stat(response, std::move(stat));
}

Task<Status> list_files(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto query, request.query());
  HARENA_CO_TRY_STATUS(query.allow_only({"path", "user", "recursive", "limit", "cursor"}));
  session::FileListRequest list;
  HARENA_CO_TRY(list.path, parse_path(query));
  list.user = text_of(query, "user");
  HARENA_CO_TRY(list.recursive, parse_bool(query, "recursive", false));
  HARENA_CO_TRY(auto limit, parse_int(query.get("limit").value_or("1000"), 1, session::kMaxListEntries, "limit"));
  list.limit = static_cast<std::uint32_t>(limit);
  // The cursor may hold any byte, so it travels as base64.
  HARENA_CO_TRY(list.cursor, base64_decode(query.get("cursor").value_or("")));
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
