#include "plugins/mcp/event_stream.hpp"

#include "plugins/mcp/json_rpc.hpp"

namespace harena::mcp {

using http::Task;
using nlohmann::json;

namespace {

std::string event_of(const json& message) { return "event: message\ndata: " + dump(message) + "\n\n"; }

}  // namespace

Task<Status> EventStream::write(std::string text) {
  if (!response_.begun()) {
    http::Headers headers;
    headers.add("Content-Type", "text/event-stream");
    headers.add("Cache-Control", "no-cache, no-transform");
    headers.add("X-Accel-Buffering", "no");
    HARENA_CO_TRY_STATUS(co_await response_.begin(200, std::move(headers)));
  }
  co_return co_await response_.write(text);
}

Task<Status> EventStream::progress(std::int64_t done, std::string message) {
  if (progress_token_.is_null() || done <= told_) co_return ok_status();
  told_ = done;
  json params = {{"progressToken", progress_token_}, {"progress", done}};
  if (!message.empty()) params["message"] = std::move(message);
  json notification = {{"jsonrpc", "2.0"}, {"method", "notifications/progress"}, {"params", std::move(params)}};
  co_return co_await write(event_of(notification));
}

Task<Status> EventStream::alive() { co_return co_await write(": alive\n\n"); }

Task<Status> EventStream::answer(const json& document, int status) {
  if (!response_.begun()) {
    http::Headers headers;
    headers.add("Content-Type", "application/json");
    const auto body = dump(document);
    co_return co_await response_.send(status, std::move(headers), body);
  }
  HARENA_CO_TRY_STATUS(co_await write(event_of(document)));
  co_return co_await response_.finish();
}

Task<Status> EventStream::end() {
  HARENA_CO_TRY_STATUS(co_await write(": cancelled\n\n"));
  co_return co_await response_.finish();
}

}  // namespace harena::mcp
