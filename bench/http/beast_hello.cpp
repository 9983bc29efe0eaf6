#include "bench/http/beast_hello.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <memory>
#include <string>

namespace harena::bench {
namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
namespace {

asio::awaitable<void> serve(tcp::socket socket, std::size_t body_bytes) {
  socket.set_option(tcp::no_delay(true));
  beast::flat_buffer buffer;
  beast::http::response<beast::http::string_body> answer;
  answer.set(beast::http::field::content_type, "application/json");
  answer.body() = std::string(body_bytes, 'x');
  answer.prepare_payload();
  try {
    while (true) {
      beast::http::request<beast::http::string_body> request;
      co_await beast::http::async_read(socket, buffer, request, asio::use_awaitable);
      co_await beast::http::async_write(socket, answer, asio::use_awaitable);
    }
  } catch (const boost::system::system_error&) {  // the client has gone
  }
}

asio::awaitable<void> accept(std::shared_ptr<tcp::acceptor> acceptor, std::size_t body_bytes) {
  while (true) {
    auto socket = co_await acceptor->async_accept(asio::use_awaitable);
    const auto executor = acceptor->get_executor();
    asio::co_spawn(executor, serve(std::move(socket), body_bytes), asio::detached);
  }
}

}  // namespace

std::uint16_t start_beast_hello(asio::io_context& context, std::size_t body_bytes) {
  auto acceptor = std::make_shared<tcp::acceptor>(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  const auto port = acceptor->local_endpoint().port();
  asio::co_spawn(context, accept(acceptor, body_bytes), asio::detached);
  return port;
}

}  // namespace harena::bench
