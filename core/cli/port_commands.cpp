// port, port-forward

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "core/cli/print.hpp"
#include "core/cli/program.hpp"
#include "core/cli/relay.hpp"
#include "core/cli/signals.hpp"
#include "core/cli/words.hpp"
#include "sdk/client/sandboxes.hpp"

namespace harena::cli {

namespace {

struct ForwardOptions {
  std::string sandbox;
  std::vector<std::string> ports;
  std::string address = "127.0.0.1";
};

struct Listener {
  UniqueFd fd;
  PortPair ports;
};

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  std::uint16_t port() const {
    // Both families have it at the same place.
    return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
  }
};

Result<SocketAddress> parse_address(const std::string& text, std::uint16_t port) {
  SocketAddress address;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (::inet_pton(AF_INET, text.c_str(), &v4->sin_addr) == 1) {
    address.size = sizeof *v4;
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    return address;
  }
  if (::inet_pton(AF_INET6, text.c_str(), &v6->sin6_addr) == 1) {
    address.size = sizeof *v6;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    return address;
  }
  return make_error(ErrorCode::invalid_argument, "--address is '" + text + "'; it is a numeric address such as 127.0.0.1 or ::1");
}

std::string shown(const std::string& address, std::uint16_t port) {
  return (address.find(':') == std::string::npos ? address : "[" + address + "]") + ":" + std::to_string(port);
}

Result<Listener> listen_on(const std::string& address, PortPair ports) {
  HARENA_TRY(auto where, parse_address(address, ports.local));
  UniqueFd fd(::socket(where.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd.get(), where.get(), where.size) != 0 || ::listen(fd.get(), 128) != 0) {
    return errno_error(errno, "listening on " + shown(address, ports.local));
  }
  ::getsockname(fd.get(), where.get(), &where.size);
  ports.local = where.port();
  return Listener{std::move(fd), ports};
}

void serve(std::unique_ptr<client::Client> client, const std::string& sandbox, std::uint16_t port, UniqueFd peer) {
  auto tunnel = client::Tunnel::open(*client, sandbox, port);
  const auto status = tunnel.ok() ? relay(std::move(peer), **tunnel) : Status(std::move(tunnel).error());
  if (!status.ok()) print_error(status.error(), false);  // the others go on
}

Result<int> forward(Program& program, const ForwardOptions& options) {
  std::vector<Listener> listeners;
  for (const auto& text : options.ports) {
    HARENA_TRY(const auto ports, parse_ports(text));
    HARENA_TRY(auto listener, listen_on(options.address, ports));
    listeners.push_back(std::move(listener));
  }
  // Before any thread: all of them inherit it, and a ^C is ours to end by.
  HARENA_TRY(const auto signals, BlockedSignals::block({SIGINT, SIGTERM, SIGHUP}));
  HARENA_TRY(const auto client, program.connect());
  HARENA_TRY_STATUS(client::Sandboxes(*client).get(options.sandbox));
  std::vector<pollfd> waited;
  for (const auto& one : listeners) {
    const auto from = shown(options.address, one.ports.local);
    HARENA_TRY_STATUS(program.options.json ? print_line(nlohmann::json({{"local", from}, {"port", one.ports.remote}}).dump())
                                           : print_line(from + " -> " + options.sandbox + ":" + std::to_string(one.ports.remote)));
    waited.push_back({one.fd.get(), POLLIN, 0});
  }
  waited.push_back({signals.fd(), POLLIN, 0});
  while (::poll(waited.data(), waited.size(), -1) >= 0 || errno == EINTR) {
    // It's how this command ends; what is open is closed by the kernel.
    if (waited.back().revents != 0 && signals.take() != 0) return kExitOk;
    for (std::size_t at = 0; at < listeners.size(); ++at) {
      if (waited[at].revents == 0) continue;
      UniqueFd peer(::accept4(waited[at].fd, nullptr, nullptr, SOCK_CLOEXEC));
      // Detached: it ends with its connection, or with the program, and shares nothing.
      if (peer) std::thread(serve, client->clone(), options.sandbox, listeners[at].ports.remote, std::move(peer)).detach();
    }
  }
  return errno_error(errno, "poll");
}

Result<int> show_port(Program& program, const std::string& sandbox, int port) {
  HARENA_TRY(const auto client, program.connect());
  HARENA_TRY_STATUS(client::Sandboxes(*client).get(sandbox));
  const auto& endpoint = client->connection().endpoint();
  const auto url = endpoint.describe() + endpoint.base_path + "/sandboxes/" + sandbox + "/ports/" + std::to_string(port) + "/";
  HARENA_TRY_STATUS(program.options.json ? print_json({{"url", url}}) : print_line(url));
  return kExitOk;
}

}  // namespace

void add_ports(Program& program) {
  auto sandbox = std::make_shared<std::string>();
  auto port = std::make_shared<int>(0);
  auto* show = program.command("port", "Print the URL of an HTTP port in a sandbox (calls to it need the token)",
                               [&program, sandbox, port] { return show_port(program, *sandbox, *port); });
  show->add_option("sandbox", *sandbox, "Id of the sandbox")->required();
  show->add_option("port", *port, "Port in the sandbox")->required()->check(CLI::Range(1, 65'535));

  auto options = std::make_shared<ForwardOptions>();
  auto* sub = program.command("port-forward", "Listen here and pass connections to ports in a sandbox",
                              [&program, options] { return forward(program, *options); });
  sub->add_option("sandbox", options->sandbox, "Id of the sandbox")->required();
  sub->add_option("ports", options->ports, "[LOCAL:]PORT; a LOCAL of 0 is any free one")->required();
  sub->add_option("--address", options->address, "Address to listen on")->capture_default_str();
}

}  // namespace harena::cli
