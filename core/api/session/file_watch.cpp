// What happens in a folder, as JSON lines, with a sign of life.

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/parallel_group.hpp>

#include <chrono>

#include "core/api/session/file_parts.hpp"
#include "sdk/http/async_mutex.hpp"
#include "sdk/http/error.hpp"

namespace harena {

using http::Request;
using http::ResponseWriter;
using http::Task;
using nlohmann::json;
using session::FileEventKind;

namespace {

constexpr std::chrono::seconds kKeepAlive{15};

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

/// One answer, written to by the reader of the events and by the keep-alive clock, one at a time.
class WatchAnswer {
 public:
  WatchAnswer(ResponseWriter& response, session::FileWatcher watcher, std::string folder)
      : response_(response), watcher_(std::move(watcher)), folder_(std::move(folder)) {}

  Task<Status> run() {
    HARENA_CO_TRY_STATUS(co_await response_.write("{\"event\":\"ready\"}\n"));
    auto executor = co_await boost::asio::this_coro::executor;
    auto group = boost::asio::experimental::make_parallel_group(
        boost::asio::co_spawn(executor, copy(), boost::asio::deferred),
        boost::asio::co_spawn(executor, keep_alive(), boost::asio::deferred));
    auto [order, failed, clock_failed] =
        co_await group.async_wait(boost::asio::experimental::wait_for_one(), boost::asio::use_awaitable);
    if (failed && order[0] == 0) std::rethrow_exception(failed);
    HARENA_CO_TRY_STATUS(std::move(outcome_));
    co_return co_await response_.finish();
  }

 private:
  Task<Status> write(std::string bytes) {
    auto guard = co_await mutex_.lock();
    if (done_) co_return ok_status();
    co_return co_await response_.write(bytes);
  }

  Task<void> copy() {
    outcome_ = co_await copy_events();
    auto guard = co_await mutex_.lock();
    done_ = true;
  }

  Task<Status> copy_events() {
    for (;;) {
      auto event = co_await watcher_.next();
      if (!event) {
        const std::string last = http::error_body(event.error()) + "\n";
        co_return co_await write(last);
      }
      if (!*event) co_return ok_status();
      const std::string line = event_line(**event, folder_);
      HARENA_CO_TRY_STATUS(co_await write(line));
    }
  }

  Task<void> keep_alive() {
    for (;;) {
      co_await http::sleep_for(kKeepAlive);
      auto written = co_await write("{}\n");
      // The other side has gone: ends the copy too.
      if (!written || done_) co_return;
    }
  }

  ResponseWriter& response_;
  session::FileWatcher watcher_;
  std::string folder_;
  bool done_ = false;
  http::AsyncMutex mutex_;
  Status outcome_;
};

}  // namespace

Task<Status> watch_files(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto query, request.query());
  HARENA_CO_TRY_STATUS(query.allow_only({"path", "user", "recursive"}));
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
  WatchAnswer answer(response, std::move(watcher), watch.path);
  co_return co_await answer.run();
}

}  // namespace harena
