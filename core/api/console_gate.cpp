#include "core/api/console_gate.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>

#include <chrono>
#include <vector>

#include "core/api/sandbox_access.hpp"
#include "sdk/http/socket_stream.hpp"
#include "sdk/http/websocket.hpp"

namespace harena {

namespace asio = boost::asio;
using http::Task;
using Kind = http::WebSocketMessage::Kind;

namespace {

constexpr std::size_t kBlockBytes = 64 * 1024;
/// For so long the client's answer to our close is waited for.
constexpr std::chrono::seconds kParting{2};
constexpr std::uint16_t kNormalClosure = 1000;
constexpr std::uint16_t kUnsupportedData = 1003;

/// The path of the console; empty when the backend names none.
std::string path_of(const Sandbox& sandbox, const std::string& name) {
  const auto consoles = sandbox.details.find("consoles");
  if (consoles == sandbox.details.end() || !consoles->is_object()) return "";
  const auto path = consoles->find(name);
  return path != consoles->end() && path->is_string() ? path->get<std::string>() : "";
}

Error no_console(const Sandbox& sandbox, const std::string& verb) {
  std::string message = "the backend '" + sandbox.spec.backend + "' has no " + verb + " for this sandbox";
  if (!path_of(sandbox, "serial").empty()) message += "; it was created without a display, its serial line is at /console";
  return make_error(ErrorCode::unimplemented, std::move(message));
}

Task<void> to_machine(http::WebSocket& socket, http::ByteStream& machine) {
  while (true) {
    auto message = co_await socket.receive();
    if (!message.ok() || message->kind == Kind::closed) co_return;
    if (message->kind != Kind::binary) {
      (void)co_await socket.close(kUnsupportedData, "only binary messages are right here");
      co_return;
    }
    if (message->data.empty()) continue;
    const auto written = co_await machine.write(std::string_view(message->data));
    if (!written.ok()) co_return;
  }
}

Task<void> to_client(http::ByteStream& machine, http::WebSocket& socket) {
  std::vector<std::byte> block(kBlockBytes);
  while (true) {
    const auto count = co_await machine.read(block);
    if (!count.ok() || *count == 0) break;
    const std::string_view bytes(reinterpret_cast<const char*>(block.data()), *count);
    const auto sent = co_await socket.send(Kind::binary, bytes);
    if (!sent.ok()) co_return;
  }
  (void)co_await socket.close(kNormalClosure, "the machine ended the connection");
  co_await http::sleep_for(kParting);
}

/// Until one of them ends.
Task<void> carry(http::WebSocket& socket, http::ByteStream& machine) {
  const auto executor = co_await asio::this_coro::executor;
  auto group = asio::experimental::make_parallel_group(asio::co_spawn(executor, to_machine(socket, machine), asio::deferred),
                                                       asio::co_spawn(executor, to_client(machine, socket), asio::deferred));
  co_await group.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
  machine.close();
}

}  // namespace

Task<Result<Reply>> ConsoleGate::bridge(ApiCall& call, std::string name, std::string verb) {
  HARENA_CO_TRY(const auto sandbox, co_await permitted_sandbox(services_, call, Permission::sandbox_use));
  const auto path = path_of(sandbox, name);
  if (sandbox.state != SandboxState::running) {
    co_return make_error(ErrorCode::failed_precondition,
                         "the sandbox is " + std::string(to_string(sandbox.state)) + "; " + verb + " needs one that is running");
  }
  if (path.empty()) co_return no_console(sandbox, verb);
  const SandboxId id = sandbox.id;
  HARENA_CO_TRY(Edge* const edge, services_.fleet.edge_of(id));
  HARENA_CO_TRY(const auto use, co_await edge->use(call.context, id));
  HARENA_CO_TRY(auto machine, co_await http::connect_unix(path));
  http::WebSocketOptions options;
  options.protocols.push_back("binary");  // what noVNC may offer
  call.response.set_last_words("");       // whoever sits there can come again
  HARENA_CO_TRY(auto socket, co_await call.response.accept_websocket(options));
  co_await carry(*socket, *machine);
  co_return Reply::already_sent();
}

Task<Result<Reply>> ConsoleGate::console(ApiCall& call) { return bridge(call, "serial", "console"); }

Task<Result<Reply>> ConsoleGate::vnc(ApiCall& call) { return bridge(call, "vnc", "vnc"); }

void ConsoleGate::add_to(ApiRouter& router) {
  router.add("GET", "/v1/sandboxes/{id}/console", "console", "Its serial console, as a WebSocket", this, &ConsoleGate::console);
  router.add("GET", "/v1/sandboxes/{id}/vnc", "vnc", "Its screen (RFB), as a WebSocket for noVNC", this, &ConsoleGate::vnc);
}

}  // namespace harena
