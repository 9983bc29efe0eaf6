#include "bench/exec/blocking_http.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <stdexcept>

namespace harena::bench {
namespace {

constexpr std::size_t kBlock = 256 * 1024;

std::string header(const std::string& head, const std::string& name) {
  const auto at = head.find("\r\n" + name + ": ");
  if (at == std::string::npos) return "";
  const auto begin = at + name.size() + 4;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

}  // namespace

BlockingHttp::BlockingHttp(std::uint16_t port, std::string token) : token_(std::move(token)), block_(new char[kBlock]) {
  socket_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) throw std::runtime_error("connect failed");
  const int on = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

std::string BlockingHttp::call(const std::string& method, const std::string& target, const std::string& body) {
  send(head(method, target, body.size(), "application/json") + body);
  std::string answer;
  read_body(read_head(), [&](const char* data, std::size_t size) { answer.append(data, size); });
  return answer;
}

std::size_t BlockingHttp::drain(const std::string& target, const std::string& accept) {
  send(head("GET", target, 0, accept));
  return read_body(read_head(), [](const char*, std::size_t) {});
}

void BlockingHttp::upload(const std::string& target, std::size_t size) {
  send(head("PUT", target, size, "*/*"));
  const std::string block(kBlock, 'x');
  for (std::size_t sent = 0; sent < size; sent += kBlock) send(block.substr(0, std::min(kBlock, size - sent)));
  read_body(read_head(), [](const char*, std::size_t) {});
}

std::string BlockingHttp::head(const std::string& method, const std::string& target, std::size_t body_bytes,
                               const std::string& accept) const {
  auto text = method + " " + target + " HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer " + token_ + "\r\nAccept: " + accept + "\r\n";
  if (method != "GET") text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body_bytes) + "\r\n";
  return text + "\r\n";
}

void BlockingHttp::send(const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const auto count = ::send(socket_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) throw std::runtime_error("send failed");
    sent += static_cast<std::size_t>(count);
  }
}

void BlockingHttp::fill() {
  const auto count = ::recv(socket_.get(), block_.get(), kBlock, 0);
  if (count <= 0) throw std::runtime_error("the server closed the connection");
  buffer_.append(block_.get(), static_cast<std::size_t>(count));
}

std::string BlockingHttp::read_head() {
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) fill();
  auto text = buffer_.substr(0, end + 4);
  buffer_.erase(0, end + 4);
  if (!text.starts_with("HTTP/1.1 2")) throw std::runtime_error(text + buffer_);
  return text;
}

std::string BlockingHttp::read_line() {
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n")) == std::string::npos) fill();
  auto line = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return line;
}

std::size_t BlockingHttp::take_bytes(std::size_t count, const std::function<void(const char*, std::size_t)>& take) {
  for (std::size_t left = count; left > 0;) {
    if (buffer_.empty()) fill();
    const auto part = std::min(left, buffer_.size());
    take(buffer_.data(), part);
    if (part == buffer_.size()) buffer_.clear(); else buffer_.erase(0, part);
    left -= part;
  }
  return count;
}

std::size_t BlockingHttp::read_chunks(const std::function<void(const char*, std::size_t)>& take) {
  std::size_t total = 0;
  for (;;) {
    const auto size = std::stoul(read_line(), nullptr, 16);
    total += take_bytes(size, take);
    read_line();
    if (size == 0) return total;
  }
}

std::size_t BlockingHttp::read_body(const std::string& head, const std::function<void(const char*, std::size_t)>& take) {
  const auto length = header(head, "Content-Length");
  if (!length.empty()) return take_bytes(std::stoul(length), take);
  if (head.find("hunked") != std::string::npos) return read_chunks(take);
  return head.starts_with("HTTP/1.1 204") ? 0 : throw std::runtime_error("an answer without a length");
}

}  // namespace harena::bench
