#include "plugins/e2b/envd/ports/port_forward.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>

#include <array>
#include <chrono>

#include "plugins/e2b/envd/http/rest_answer.hpp"
#include "plugins/e2b/envd/http/signature.hpp"
#include "plugins/e2b/envd/refusal_reason.hpp"

namespace harena::e2b {

namespace asio = boost::asio;
using http::Task;

namespace {

constexpr std::size_t kForwardBlockBytes = 64 * 1024;
/// More isn't one of the API's own errors.
constexpr std::size_t kMaxErrorBytes = 16 * 1024;
constexpr std::array<std::chrono::milliseconds, 4> kDialAgain = {std::chrono::milliseconds(100), std::chrono::milliseconds(200),
                                                                 std::chrono::milliseconds(300), std::chrono::milliseconds(400)};

bool wants_upgrade(const http::Request& request) {
  return request.headers().has_token("Connection", "upgrade") && request.headers().contains("Upgrade") && request.body_length() == 0u;
}

http::BodyKind body_kind(const http::Request& request) {
  const auto length = request.body_length();
  if (!length) return http::BodyKind::chunked;
  const bool announced = *length > 0 || request.headers().contains("Content-Length");
  return announced ? http::BodyKind::length : http::BodyKind::none;
}

class Forward {
 public:
  Forward(EnvdCall& call, std::uint16_t port, std::unique_ptr<http::ByteStream> stream)
      : call_(call), port_(port), connection_(std::move(stream)) {}

  Task<Status> run(bool& closed) {
    auto head = port_head(call_.request, call_.sandbox, port_);
    head.body = body_kind(call_.request);
    head.length = call_.request.body_length().value_or(0);
    call_.request.defer_continue();
    HARENA_CO_TRY_STATUS(co_await connection_.send_head(std::move(head)));
    co_return co_await both_ways(closed);
  }

 private:
  /// The answer may come before the request's body has ended; its end is the end of both.
  Task<Status> both_ways(bool& closed) {
    const auto executor = co_await asio::this_coro::executor;
    auto until_answered = [this](auto...) {
      return answered_ ? asio::cancellation_type::all : asio::cancellation_type::none;
    };
    auto group = asio::experimental::make_parallel_group(asio::co_spawn(executor, send_body(), asio::deferred),
                                                         asio::co_spawn(executor, pass_answer(closed), asio::deferred));
    auto [order, body_failed, answer_failed] = co_await group.async_wait(until_answered, asio::use_awaitable);
    if (answer_failed) std::rethrow_exception(answer_failed);
    if (!body_side_.ok()) co_return std::move(body_side_);
    co_return std::move(answer_side_);
  }

  Task<void> send_body() { body_side_ = co_await copy_body(); }
  Task<void> pass_answer(bool& closed) {
    answer_side_ = co_await relay(closed);
    answered_ = true;
  }

  Task<Status> copy_body() {
    std::vector<std::byte> block(kForwardBlockBytes);
    const std::span<std::byte> all(block);
    for (;;) {
      auto count = co_await call_.request.read(all);
      if (!count) {
        connection_.close();  // the client broke off: the service must not see a whole body
        co_return std::move(count).error();
      }
      if (*count == 0) break;
      auto written = co_await connection_.write_body(std::span<const std::byte>(all.first(*count)));
      if (!written) co_return ok_status();  // its answer says more
    }
    auto finished = co_await connection_.finish_body(call_.request.trailers());
    co_return ok_status();
  }

  Task<Status> relay(bool& closed) {
    for (;;) {
      HARENA_CO_TRY(auto head, co_await connection_.read_head(true));
      if (head.status == 101) co_return co_await take_over(std::move(head));
      if (head.status < 200) {
        http::remove_hop_by_hop(head.headers);
        HARENA_CO_TRY_STATUS(co_await call_.response.inform(head.status, std::move(head.headers)));
        continue;
      }
      if (head.status == 502 && head.length && *head.length <= kMaxErrorBytes) co_return co_await relay_refusal(std::move(head), closed);
      co_return co_await relay_body(std::move(head));
    }
  }

  Task<Status> relay_refusal(http::ResponseHead head, bool& closed) {
    HARENA_CO_TRY(const auto body, co_await connection_.read_all(kMaxErrorBytes));
    closed = refusal_reason(body) == "port_closed";
    if (closed) co_return ok_status();
    http::remove_hop_by_hop(head.headers);
    co_return co_await call_.response.send(502, std::move(head.headers), body);
  }

  Task<Status> relay_body(http::ResponseHead head) {
    http::remove_hop_by_hop(head.headers);
    (void)call_.response.set_reason(std::move(head.reason));
    HARENA_CO_TRY_STATUS(co_await call_.response.begin(head.status, std::move(head.headers), head.length));
    std::vector<std::byte> block(kForwardBlockBytes);
    const std::span<std::byte> all(block);
    for (;;) {
      HARENA_CO_TRY(const auto count, co_await connection_.read_body(all));
      if (count == 0) break;
      HARENA_CO_TRY_STATUS(co_await call_.response.write(std::span<const std::byte>(all.first(count))));
    }
    co_return co_await call_.response.finish(connection_.trailers());
  }

  Task<Status> take_over(http::ResponseHead head) {
    HARENA_CO_TRY(auto client, co_await call_.response.take_over(101, std::move(head.headers)));
    const auto service = connection_.take_stream();
    auto pumped = co_await http::pump(*client, *service);
    co_return ok_status();
  }

  EnvdCall& call_;
  std::uint16_t port_;
  http::ClientConnection connection_;
  Status body_side_;
  Status answer_side_;
  bool answered_ = false;
};

Task<Status> try_once(EnvdCall& call, std::uint16_t port, bool& closed) {
  HARENA_CO_TRY(auto stream, co_await call.api.client().connect());
  Forward forward(call, port, std::move(stream));
  co_return co_await forward.run(closed);
}

bool let_in(const EnvdCall& call) {
  if (call.sandbox.traffic_token.empty()) return true;
  return same_secret(call.request.header("E2b-Traffic-Access-Token").value_or(""), call.sandbox.traffic_token);
}

}  // namespace

std::string masked_host(std::string mask, std::uint16_t port) {
  static constexpr std::string_view kPort = "${PORT}";
  if (const auto at = mask.find(kPort); at != std::string::npos) mask.replace(at, kPort.size(), std::to_string(port));
  return mask;
}

http::ClientHead port_head(const http::Request& request, const SandboxAccess& sandbox, std::uint16_t port) {
  http::ClientHead head;
  head.method = request.method();
  const std::string path(request.path());
  head.target = "/v1/sandboxes/" + sandbox.id + "/ports/" + std::to_string(port) + (path.starts_with('/') ? path : "/" + path);
  if (const auto query = request.raw_query()) head.target.append("?").append(*query);
  head.headers = request.headers();
  const bool upgrade = wants_upgrade(request);
  if (!upgrade) http::remove_hop_by_hop(head.headers);
  for (const auto* name : {"E2b-Sandbox-Id", "E2b-Sandbox-Port", "E2b-Traffic-Access-Token", "X-Access-Token", "Harena-Authorization",
                           "Content-Length", "Transfer-Encoding"}) {
    head.headers.remove(name);
  }
  if (!sandbox.mask_request_host.empty()) {
    const auto host = masked_host(sandbox.mask_request_host, port);
    head.headers.set("Host", host);
    head.headers.set("X-Forwarded-Host", host);
  }
  head.headers.add("Harena-Authorization", "Bearer " + sandbox.credential);
  return head;
}

Task<Status> forward_port(EnvdCall& call, std::uint16_t port) {
  if (!let_in(call)) co_return co_await send_traffic_refused(call.response, call.sandbox.id);
  const bool again = call.request.body_length() == 0u;
  for (std::size_t i = 0;; ++i) {
    bool closed = false;
    HARENA_CO_TRY_STATUS(co_await try_once(call, port, closed));
    if (!closed) co_return ok_status();
    if (!again || i == kDialAgain.size()) break;
    co_await http::sleep_for(kDialAgain[i]);
  }
  co_return co_await send_port_closed(call.response, call.sandbox.id, port);
}

}  // namespace harena::e2b
