#include "bench/http/load.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include "sdk/base/unique_fd.hpp"

namespace harena::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Connection {
  UniqueFd fd;
  std::string received;
  Clock::time_point sent_at;
};

UniqueFd connect_to(std::uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) throw std::runtime_error("connect failed");
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

void send_request(Connection& connection, const std::string& request) {
  connection.sent_at = Clock::now();
  if (::send(connection.fd.get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
    throw std::runtime_error("send failed");
  }
}

// Whether a whole answer is there.
bool complete(const std::string& text) {
  const auto end = text.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  if (!text.starts_with("HTTP/1.1 200")) throw std::runtime_error("not 200: " + text.substr(0, 100));
  constexpr std::string_view kLength = "Content-Length: ";
  const auto at = text.find(kLength);
  if (at == std::string::npos || at > end) throw std::runtime_error("no Content-Length");
  return text.size() >= end + 4 + std::stoul(text.substr(at + kLength.size(), 12));
}

double percentile(std::vector<double>& sorted, double part) {
  return sorted.empty() ? 0 : sorted[static_cast<std::size_t>(static_cast<double>(sorted.size() - 1) * part)];
}

}  // namespace

void pin_to_cpu(unsigned cpu) {
  const auto cpus = std::thread::hardware_concurrency();
  if (cpus < 2) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu % cpus, &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

Measured run_load(const Load& load) {
  const auto request = "GET " + load.target + " HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer " + load.token + "\r\n\r\n";
  const UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  std::vector<Connection> connections(load.connections);
  for (std::size_t i = 0; i < connections.size(); ++i) {
    connections[i].fd = connect_to(load.port);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, connections[i].fd.get(), &event);
    send_request(connections[i], request);
  }
  std::vector<double> latencies;
  const auto start = Clock::now();
  std::vector<epoll_event> events(load.connections);
  char block[4096];
  while (Clock::now() - start < load.duration) {
    const int ready = ::epoll_wait(epoll.get(), events.data(), static_cast<int>(events.size()), 100);
    for (int i = 0; i < ready; ++i) {
      auto& connection = connections[events[static_cast<std::size_t>(i)].data.u64];
      const auto count = ::recv(connection.fd.get(), block, sizeof block, MSG_DONTWAIT);
      if (count <= 0) throw std::runtime_error("the server closed a connection");
      connection.received.append(block, static_cast<std::size_t>(count));
      if (!complete(connection.received)) continue;
      latencies.push_back(std::chrono::duration<double, std::micro>(Clock::now() - connection.sent_at).count());
      connection.received.clear();
      send_request(connection, request);
    }
  }
  const auto seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::sort(latencies.begin(), latencies.end());
  return {static_cast<double>(latencies.size()) / seconds, percentile(latencies, 0.5), percentile(latencies, 0.99)};
}

}  // namespace harena::bench
