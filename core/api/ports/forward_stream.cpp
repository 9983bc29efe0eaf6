// Raw TCP and upgrades: once both sides agree, bytes are bytes.
#include "core/api/ports/forward_parts.hpp"

namespace harena {

http::Task<Status> forward_tcp(http::ResponseWriter& response, std::unique_ptr<http::ByteStream> stream) {
  HARENA_CO_TRY(auto client, co_await response.upgrade("tcp", http::Headers()));
  // A side that breaks off ends the stream; there is nobody left to tell.
  (void)co_await http::pump(*client, *stream);
  co_return ok_status();
}

http::Task<Status> forward_upgrade(http::Request& request, http::ResponseWriter& response, const PortForward& to,
                                   std::unique_ptr<http::ByteStream> stream) {
  http::ClientConnection connection(std::move(stream));
  auto asked = co_await connection.send_head(forwarded_head(request, to, true));
  if (!asked.ok()) co_return co_await answer_bad_gateway(response, to, "bad_answer", asked.error().message);
  auto head = co_await connection.read_head(true);
  while (head.ok() && head->status < 200 && head->status != 101) {
    HARENA_CO_TRY_STATUS(co_await pass_interim(response, std::move(*head)));
    head = co_await connection.read_head(true);
  }
  if (!head.ok()) co_return co_await answer_bad_gateway(response, to, "bad_answer", head.error().message);
  if (head->status != 101) co_return co_await relay_answer(connection, std::move(*head), response);
  (void)response.set_reason(std::move(head->reason));
  HARENA_CO_TRY(auto client, co_await response.take_over(101, std::move(head->headers)));
  const auto sandbox = connection.take_stream();
  (void)co_await http::pump(*client, *sandbox);
  co_return ok_status();
}

}  // namespace harena
