// What a user would write instead: a plain file server on Beast. GET sends a file, PUT makes one (a temporary name, then renamed).
//
//   beast_files FOLDER      prints its port, serves FOLDER until its stdin ends
//
// One thread. Beast's file_body takes the uploads; it would send by 4 KiB, so sending is a loop with 256 KiB, as whoever measures once
// would write it.

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

constexpr std::size_t kBufferBytes = 256 << 10;

asio::awaitable<void> send_file(tcp::socket& socket, const std::string& path) {
  http::response<http::empty_body> answer;
  beast::error_code failure;
  beast::file_posix file;
  file.open(path.c_str(), beast::file_mode::scan, failure);
  if (failure) answer.result(http::status::not_found);
  auto left = failure ? 0 : file.size(failure);
  answer.content_length(left);
  http::response_serializer<http::empty_body> serializer(answer);
  co_await http::async_write_header(socket, serializer, asio::use_awaitable);
  std::string buffer(kBufferBytes, 0);
  while (left > 0) {
    auto got = file.read(buffer.data(), buffer.size(), failure);
    if (failure || got == 0) throw boost::system::system_error(failure);
    co_await asio::async_write(socket, asio::buffer(buffer.data(), got), asio::use_awaitable);
    left -= got;
  }
}

using Head = http::request_parser<http::empty_body>;

asio::awaitable<void> take_file(tcp::socket& socket, beast::flat_buffer& buffer, Head& head, const std::string& path) {
  http::request_parser<http::file_body> parser(std::move(head));
  parser.body_limit(boost::none);
  beast::error_code failure;
  parser.get().body().open((path + ".new").c_str(), beast::file_mode::write, failure);
  if (!failure) co_await http::async_read(socket, buffer, parser, asio::use_awaitable);
  parser.get().body().close();
  std::filesystem::rename(path + ".new", path);
  http::response<http::empty_body> answer;
  answer.prepare_payload();
  co_await http::async_write(socket, answer, asio::use_awaitable);
}

asio::awaitable<void> serve(tcp::socket socket, std::string folder) {
  beast::flat_buffer buffer;
  buffer.reserve(kBufferBytes);
  try {
    while (true) {
      Head head;
      head.body_limit(boost::none);
      co_await http::async_read_header(socket, buffer, head, asio::use_awaitable);
      const std::string path = folder + std::string(head.get().target());
      if (head.get().method() == http::verb::get) {
        co_await send_file(socket, path);
      } else {
        co_await take_file(socket, buffer, head, path);
      }
    }
  } catch (const boost::system::system_error&) {  // the client has gone
  }
}

asio::awaitable<void> accept(tcp::acceptor& acceptor, std::string folder) {
  while (true) {
    auto socket = co_await acceptor.async_accept(asio::use_awaitable);
    asio::co_spawn(acceptor.get_executor(), serve(std::move(socket), folder), asio::detached);
  }
}

}  // namespace

int main(int argc, char** arguments) {
  if (argc != 2) return std::fputs("usage: beast_files FOLDER\n", stderr), 2;
  asio::io_context context(1);
  tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  asio::co_spawn(context, accept(acceptor, arguments[1]), asio::detached);
  std::printf("%u\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  asio::posix::stream_descriptor input(context, ::dup(0));
  char byte = 0;
  input.async_read_some(asio::buffer(&byte, 1), [&](beast::error_code, std::size_t) { context.stop(); });
  context.run();
}
