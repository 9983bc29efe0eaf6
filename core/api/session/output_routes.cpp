// What a command printed, as a stream; and its terminal as a WebSocket.

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/parallel_group.hpp>

#include <csignal>

#include "core/api/session/handlers.hpp"
#include "core/api/session/output_stream.hpp"
#include "core/api/session/session_json.hpp"
#include "core/api/session/text_parts.hpp"
#include "sdk/http/error.hpp"
#include "sdk/http/websocket.hpp"

namespace harena {

using http::Request;
using http::ResponseWriter;
using http::Task;
using nlohmann::json;
using session::OutputEvent;

namespace {

Result<session::AttachRequest> parse_attach(const Request& request, bool with_follow) {
  HARENA_TRY(auto query, request.query());
  session::AttachRequest attach;
  attach.command = request.param("cid");
  HARENA_TRY(attach.stdout_offset, parse_number(query, "stdout_offset", 0));
  HARENA_TRY(attach.stderr_offset, parse_number(query, "stderr_offset", 0));
  HARENA_TRY(attach.background, parse_bool(query, "background", false));
  if (with_follow) {
    HARENA_TRY(attach.follow, parse_bool(query, "follow", true));
  }
  return attach;
}

/// A terminal: output to the client, input and text messages from it.
class Terminal {
 public:
  Terminal(http::WebSocket& socket, session::OutputReader output) : socket_(socket), output_(std::move(output)) {}

  Task<Status> run() {
    auto executor = co_await boost::asio::this_coro::executor;
    auto group = boost::asio::experimental::make_parallel_group(
        boost::asio::co_spawn(executor, send_output(), boost::asio::deferred),
        boost::asio::co_spawn(executor, take_input(), boost::asio::deferred));
    auto [order, send_failed, take_failed] =
        co_await group.async_wait(boost::asio::experimental::wait_for_one(), boost::asio::use_awaitable);
    if (send_failed && order[0] == 0) std::rethrow_exception(send_failed);
    if (take_failed && order[0] == 1) std::rethrow_exception(take_failed);
    co_return ok_status();
  }
  bool exited() const { return exited_; }

 private:
  using Kind = http::WebSocketMessage::Kind;

  Task<void> end(const json& message, std::uint16_t code) {
    std::string text = message.dump(-1, ' ', false, json::error_handler_t::replace);
    (void)co_await socket_.send(Kind::text, text);
    (void)co_await socket_.close(code, "");
  }

  Task<void> send_output() {
    for (;;) {
      auto event = co_await output_.next();
      if (!event) co_return co_await end(http::error_document(event.error()), 1000);
      if (event->kind == OutputEvent::Kind::end) co_return;
      if (event->kind == OutputEvent::Kind::exit) {
        exited_ = true;
        co_return co_await end(event_json(*event), 1000);
      }
      bool is_output = event->kind == OutputEvent::Kind::output;
      std::string bytes = is_output ? std::move(event->bytes) : event_json(*event).dump();
      auto sent = co_await socket_.send(is_output ? Kind::binary : Kind::text, bytes);
      if (!sent) co_return;
    }
  }

  Task<void> take_input() {
    for (;;) {
      auto message = co_await socket_.receive();
      if (!message || message->kind == Kind::closed) co_return;
      auto status = co_await take_message(*message);
      if (status) continue;
      if (status.error().code == ErrorCode::invalid_argument) co_await end(http::error_document(status.error()), 1008);
      co_return;
    }
  }

  Task<Status> take_message(const http::WebSocketMessage& message) {
    if (message.kind == Kind::binary) co_return co_await output_.write_stdin(message.data);
    co_return co_await take_text(message.data);
  }

  Task<Status> take_text(const std::string& text) {
    auto body = json::parse(text, nullptr, false);
    if (body.is_discarded()) co_return make_error(ErrorCode::invalid_argument, "the message isn't JSON");
    JsonFields fields(body, "the message");
    bool resizes = fields.has("resize"), signals = fields.has("signal");
    HARENA_CO_TRY(auto size, fields.object("resize"));
    HARENA_CO_TRY(auto signal, fields.string("signal", ""));
    HARENA_CO_TRY(auto eof, fields.boolean("eof", false));
    HARENA_CO_TRY_STATUS(fields.finish());
    if (resizes) HARENA_CO_TRY_STATUS(co_await take_resize(size));
    if (signals) {
      HARENA_CO_TRY(auto number, parse_signal(signal));
      HARENA_CO_TRY_STATUS(co_await output_.signal(number, session::SignalTarget::group));
    }
    if (eof) co_return co_await output_.end_stdin();
    co_return ok_status();
  }

  Task<Status> take_resize(const json& size) {
    JsonFields fields(size, "resize");
    HARENA_CO_TRY(auto rows, fields.integer("rows", 24, 1, 65535));
    HARENA_CO_TRY(auto cols, fields.integer("cols", 80, 1, 65535));
    HARENA_CO_TRY_STATUS(fields.finish());
    co_return co_await output_.resize(static_cast<std::uint16_t>(rows), static_cast<std::uint16_t>(cols));
  }

  http::WebSocket& socket_;
  session::OutputReader output_;
  bool exited_ = false;
};

}  // namespace

Task<Status> command_output(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto attach, parse_attach(request, true));
  HARENA_CO_TRY(auto link, co_await connector.connect());
  // An unknown command or offset is an answer of its own, not the first line of a stream.
  HARENA_CO_TRY(auto info, co_await link.client.info(attach.command));
  if (attach.stdout_offset > info.stdout_kept || attach.stderr_offset > info.stderr_kept) {
    co_return make_error(ErrorCode::out_of_range,
                         "stdout_offset " + std::to_string(attach.stdout_offset) + ", stderr_offset " + std::to_string(attach.stderr_offset) +
                             ": one is past what is kept, " + std::to_string(info.stdout_kept) + " and " +
                             std::to_string(info.stderr_kept) + " bytes");
  }
  HARENA_CO_TRY(auto output, co_await link.client.attach(attach));
  OutputWish wish;
  wish.background = attach.background;
  co_return co_await answer_output(request, response, output, std::move(wish));
}

Task<Status> attach_command(Request& request, ResponseWriter& response, SessionConnector& connector) {
  HARENA_CO_TRY(auto attach, parse_attach(request, false));
  HARENA_CO_TRY(auto link, co_await connector.connect());
  HARENA_CO_TRY(auto info, co_await link.client.info(attach.command));
  HARENA_CO_TRY(auto output, co_await link.client.attach(attach));
  http::WebSocketOptions options;
  response.set_last_words("");  // whoever sits there can attach again, from the offset
  HARENA_CO_TRY(auto socket, co_await response.accept_websocket(options));
  Terminal terminal(*socket, std::move(output));
  HARENA_CO_TRY_STATUS(co_await terminal.run());
  if (!terminal.exited() && info.on_disconnect == session::OnDisconnect::kill) {
    (void)co_await link.client.signal(attach.command, SIGKILL, session::SignalTarget::tree);
  }
  co_return ok_status();
}

}  // namespace harena
