// What happens in a folder, as JSON lines, with a sign of life.

#include "core/api/session/file_parts.hpp"
#include "core/api/session/live_answer.hpp"
#include "sdk/http/error.hpp"

namespace harena {

using http::Request;
using http::ResponseWriter;
using http::Task;
using nlohmann::json;
using session::FileEventKind;

namespace {

std::string below(const std::string& folder, const std::string& path) {
  if (path.empty()) return folder;
  return folder.back() == '/' ? folder + path : folder + "/" + path;
}

std::string event_line(const session::FileEvent& event, const std::string& folder) {
  json line = json::object();
  if (event.kind == FileEventKind::overflow) {
    line["overflow"] = true;
    return line.dump() + "\n";
  }
  line["event"] = std::string(session::to_string(event.kind));
  line["is_dir"] = event.is_dir;
  put_bytes(line, "path", below(folder, event.path));
  if (event.kind == FileEventKind::rename) put_bytes(line, "to", below(folder, event.to));
  return line.dump() + "\n";
}

Task<Status> copy_events(LiveAnswer& answer, session::FileWatcher& watcher, const std::string& folder) {
  HARENA_CO_TRY_STATUS(co_await answer.write("{\"event\":\"ready\"}\n"));
  for (;;) {
    auto event = co_await watcher.next();
    if (!event) {
      const std::string last = http::error_body(event.error()) + "\n";
      co_return co_await answer.write(last);
    }
    if (!*event) co_return ok_status();
    const std::string line = event_line(**event, folder);
    HARENA_CO_TRY_STATUS(co_await answer.write(line));
  }
}

}  // namespace

Task<Status> watch_files(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto query, request.query());
  session::FileWatchRequest watch;
  HARENA_CO_TRY_STATUS(take_path_and_user(query, watch));
  HARENA_CO_TRY(watch.recursive, parse_bool(query, "recursive", false));
  HARENA_CO_TRY(auto link, co_await connector.connect());
  HARENA_CO_TRY(auto watcher, co_await link.client.watch(watch));
  // Watching can be begun again: a stop of the server needn't wait for it.
  response.set_last_words(http::error_body(http::stopping_error()) + "\n");
  http::Headers headers;
  headers.set("Content-Type", "application/x-ndjson");
  HARENA_CO_TRY_STATUS(co_await response.begin(200, std::move(headers)));
  if (request.method() == "HEAD") co_return co_await response.finish();
  LiveAnswer answer(response, SignsOfLife{.sign = "{}\n"});
  co_return co_await answer.run(copy_events(answer, watcher, watch.path));
}

}  // namespace harena
