// A request and its answer, each streamed while the other may still be under way.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>

#include <chrono>

#include "core/api/ports/forward_parts.hpp"

namespace harena {
namespace asio = boost::asio;
namespace {

constexpr std::size_t kBlockBytes = 64 * 1024;
/// As curl waits for it.
constexpr std::chrono::seconds kContinuePatience{1};

// What both directions know of each other.
struct Exchange {
  http::Request& request;
  http::ResponseWriter& response;
  http::ClientConnection& connection;
  Status request_side = ok_status();
  Status answer_side = ok_status();
  /// The answer is through: what is left of the request's body interests nobody.
  bool answered = false;
  /// Bytes of the request's body have come.
  bool body_begun = false;
  /// We have asked for the body in the sandbox's name.
  bool continued = false;
};

// Only the end of the answer ends the other direction.
struct UntilAnswered {
  const bool& answered;
  template <class... Results>
  asio::cancellation_type operator()(const Results&...) const noexcept {
    return answered ? asio::cancellation_type::all : asio::cancellation_type::none;
  }
};

http::Task<Status> copy_body(Exchange& exchange) {
  std::vector<std::byte> block(kBlockBytes);
  while (true) {
    auto count = co_await exchange.request.read(block);
    if (!count.ok()) {
      exchange.connection.close();  // the client broke off: so must we, or the sandbox would see a whole body
      co_return std::move(count).error();
    }
    if (*count == 0) break;
    exchange.body_begun = true;
    // The sandbox may answer and close without reading on; its answer says more than our error would.
    const auto written = co_await exchange.connection.write_body(std::span<const std::byte>(block).first(*count));
    if (!written.ok()) co_return ok_status();
  }
  (void)co_await exchange.connection.finish_body(exchange.request.trailers());
  co_return ok_status();
}

http::Task<void> send_body(Exchange& exchange) { exchange.request_side = co_await copy_body(exchange); }

// `Expect: 100-continue` is the sandbox's to answer. One that says nothing at all is taken for a server that doesn't know it,
// as clients do: its body is asked for on its behalf.
http::Task<Status> await_continue(Exchange& exchange) {
  const auto spoken = co_await http::with_timeout(exchange.connection.wait_for_answer(), kContinuePatience, "the first byte");
  if (spoken.ok() || spoken.error().code != ErrorCode::deadline_exceeded || exchange.body_begun) co_return ok_status();
  exchange.continued = true;
  const http::Headers none;
  co_return co_await exchange.response.inform(100, none);
}

// Interim answers are passed on; a 100 that we have given ourselves isn't given twice.
http::Task<Result<http::ResponseHead>> read_final_head(Exchange& exchange) {
  if (exchange.request.headers().contains("Expect")) HARENA_CO_TRY_STATUS(co_await await_continue(exchange));
  while (true) {
    HARENA_CO_TRY(auto head, co_await exchange.connection.read_head(true));
    if (head.status >= 200) co_return head;
    if (head.status == 101) co_return make_error(ErrorCode::unavailable, "an upgrade that wasn't asked for");
    if (head.status == 100 && exchange.continued) continue;
    HARENA_CO_TRY_STATUS(co_await pass_interim(exchange.response, std::move(head)));
  }
}

http::Task<void> pass_answer(Exchange& exchange) {
  auto head = co_await read_final_head(exchange);
  if (head.ok()) {
    exchange.answer_side = co_await relay_answer(exchange.connection, std::move(*head), exchange.response);
  } else {
    exchange.answer_side = std::move(head).error();
  }
  exchange.answered = true;
}

http::BodyKind body_kind(const http::Request& request) {
  const auto length = request.body_length();
  if (!length) return http::BodyKind::chunked;
  const bool announced = *length > 0 || request.headers().contains("Content-Length");
  return announced ? http::BodyKind::length : http::BodyKind::none;
}

}  // namespace

http::Task<Status> pass_interim(http::ResponseWriter& response, http::ResponseHead head) {
  http::remove_hop_by_hop(head.headers);
  (void)response.set_reason(std::move(head.reason));
  co_return co_await response.inform(head.status, std::move(head.headers));
}

http::Task<Status> relay_answer(http::ClientConnection& connection, http::ResponseHead head, http::ResponseWriter& response) {
  http::remove_hop_by_hop(head.headers);
  (void)response.set_reason(std::move(head.reason));
  HARENA_CO_TRY_STATUS(co_await response.begin(head.status, std::move(head.headers), head.length));
  std::vector<std::byte> block(kBlockBytes);
  while (true) {
    HARENA_CO_TRY(const std::size_t count, co_await connection.read_body(block));
    if (count == 0) break;
    HARENA_CO_TRY_STATUS(co_await response.write(std::span<const std::byte>(block).first(count)));
  }
  co_return co_await response.finish(connection.trailers());
}

http::Task<Status> forward_http(http::Request& request, http::ResponseWriter& response, const PortForward& to,
                                std::unique_ptr<http::ByteStream> stream) {
  http::ClientConnection connection(std::move(stream));
  auto head = forwarded_head(request, to, false);
  head.body = body_kind(request);
  head.length = request.body_length().value_or(0);
  request.defer_continue();
  auto asked = co_await connection.send_head(std::move(head));
  if (!asked.ok()) co_return co_await answer_bad_gateway(response, to, "bad_answer", asked.error().message);
  Exchange exchange{request, response, connection};
  const auto executor = co_await asio::this_coro::executor;
  UntilAnswered until_answered{exchange.answered};
  auto [order, request_failure, answer_failure] =
      co_await asio::experimental::make_parallel_group(
          asio::co_spawn(executor, send_body(exchange), asio::deferred),
          asio::co_spawn(executor, pass_answer(exchange), asio::deferred))
          .async_wait(until_answered, asio::use_awaitable);
  if (answer_failure) std::rethrow_exception(answer_failure);
  if (!exchange.request_side.ok()) co_return std::move(exchange.request_side);
  if (exchange.answer_side.ok() || response.begun()) co_return std::move(exchange.answer_side);
  co_return co_await answer_bad_gateway(response, to, "bad_answer", exchange.answer_side.error().message);
}

}  // namespace harena
