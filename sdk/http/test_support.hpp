#pragma once
// For the tests of sdk/http and of the rooms that stand on it: a server on a free port, and clients that block.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "sdk/base/unique_fd.hpp"
#include "sdk/http/client.hpp"
#include "sdk/http/server.hpp"

namespace harena::http {

/// Runs a task on the I/O threads and blocks for its value; exceptions come out.
template <class T>
T run_on(IoThreads& io, Task<T> task) {
  auto hold = [](Task<T> inner, std::optional<T>& out) -> Task<void> { out.emplace(co_await std::move(inner)); };
  std::optional<T> value;
  boost::asio::co_spawn(io.next(), hold(std::move(task), value), boost::asio::use_future).get();
  return std::move(*value);
}

inline FetchResponse fetch(IoThreads& io, Endpoint endpoint, FetchRequest request) {
  auto task = [](Endpoint to, FetchRequest what) -> Task<Result<FetchResponse>> {
    Client client({.endpoint = std::move(to)});
    co_return co_await client.fetch(std::move(what));
  };
  auto result = run_on(io, task(std::move(endpoint), std::move(request)));
  if (!result.ok()) throw std::runtime_error(result.error().describe());
  return std::move(*result);
}

/// A server with one I/O thread (or more) on a free port of 127.0.0.1.
class TestServer {
 public:
  explicit TestServer(Handler handler, ServerOptions options = {}, std::size_t threads = 1) : io_(threads) {
    if (options.tcp.empty()) options.tcp = {{"127.0.0.1", 0, nullptr}};
    auto started = Server::start(io_, std::move(options), std::move(handler));
    if (!started.ok()) throw std::runtime_error(started.error().describe());
    server_ = std::move(*started);
  }
  std::uint16_t port() const { return server_->port(); }
  IoThreads& io() { return io_; }
  Server& server() { return *server_; }
  Endpoint endpoint() const { return Endpoint::tcp("127.0.0.1", port()); }
  FetchResponse fetch(FetchRequest request) { return http::fetch(io_, endpoint(), std::move(request)); }

 private:
  IoThreads io_;
  std::unique_ptr<Server> server_;
};

/// A blocking socket that says exactly what the test says; reads give up after 10 s.
class RawClient {
 public:
  struct Answer {
    std::string head;
    std::string body;
    std::string trailers;
  };

  explicit RawClient(std::uint16_t port, int receive_buffer = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval limit{10, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (receive_buffer > 0) ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("connect failed");
    }
  }

  int fd() const { return fd_.get(); }
  void send(std::string_view text) {
    while (!text.empty()) {
      const auto count = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (count < 0) return;
      text.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  void half_close() { ::shutdown(fd_.get(), SHUT_WR); }
  void close() { fd_.reset(); }
  /// Closes with a reset.
  void reset() {
    const linger off{1, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &off, sizeof off);
    fd_.reset();
  }

  /// False at the end of the stream, after an error or after 10 s.
  bool fill() {
    char block[65536];
    const auto count = ::recv(fd_.get(), block, sizeof block, 0);
    if (count <= 0) return false;
    buffer_.append(block, static_cast<std::size_t>(count));
    return true;
  }
  std::string read_to_end() {
    while (fill()) {
    }
    return std::exchange(buffer_, std::string());
  }
  /// Up to and with `mark`, or what came before the end.
  std::string read_until(std::string_view mark) {
    std::size_t at = buffer_.find(mark);
    while (at == std::string::npos && fill()) at = buffer_.find(mark);
    return take(at == std::string::npos ? buffer_.size() : at + mark.size());
  }
  std::string read_exactly(std::size_t count) {
    while (buffer_.size() < count && fill()) {
    }
    return take(std::min(count, buffer_.size()));
  }
  /// One whole answer with a length or chunked.
  Answer read_answer() {
    Answer answer;
    answer.head = read_until("\r\n\r\n");
    const auto length = answer.head.find("Content-Length: ");
    if (length != std::string::npos) {
      answer.body = read_exactly(std::stoul(answer.head.substr(length + 16)));
    } else if (answer.head.find("chunked") != std::string::npos) {
      read_chunks(answer);
    }
    return answer;
  }

 private:
  std::string take(std::size_t count) {
    auto text = buffer_.substr(0, count);
    buffer_.erase(0, count);
    return text;
  }
  void read_chunks(Answer& answer) {
    while (true) {
      const auto line = read_until("\r\n");
      const auto size = line.empty() ? 0 : std::stoul(line, nullptr, 16);
      if (size == 0) break;
      answer.body += read_exactly(size);
      read_until("\r\n");
    }
    for (auto line = read_until("\r\n"); line.size() > 2; line = read_until("\r\n")) answer.trailers += line;
  }

  UniqueFd fd_;
  std::string buffer_;
};

}  // namespace harena::http
