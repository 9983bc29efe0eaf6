// The guests of all machines under the fake of Firecracker (fake_firecracker.cpp), for tests of a whole
// daemon: one process behind one socket.
//
//   fake_guest SOCKET
//
// Each VMM has a user of its own, and keeps it as long as its machine lives: that tells whose agent a
// connection wants. Says "ready" when it listens. There are no sessions: what asks for one is refused.

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "sdk/session/tunnel/agent_messages.hpp"
#include "sdk/session/tunnel/bridge.hpp"

namespace harena::microvm::testing {
namespace {

using namespace session;

void answer(FrameType type, const AgentReply& reply) {
  if (type == FrameType::agent_configure) return reply(encode(ConfigureAnswer{"6.1-fake", "test", 1, 2, 3}));
  if (type == FrameType::agent_renew) return reply(encode(RenewAnswer{{"clock", "entropy"}, 0, {}}));
  if (type == FrameType::agent_metrics) return reply(encode(MetricsAnswer{}));
  reply(std::string());
}

class Guests {
 public:
  explicit Guests(int listener) : listener_(listener) {}

  [[noreturn]] void serve() {
    while (true) {
      std::vector<pollfd> fds = {{listener_, POLLIN, 0}};
      for (const auto& [user, bridge] : bridges_) fds.push_back({bridge->fd(), POLLIN, 0});
      ::poll(fds.data(), fds.size(), -1);
      if (fds[0].revents != 0) accept();
      for (auto& [user, bridge] : bridges_) (void)bridge->turn();
    }
  }

 private:
  void accept() {
    UniqueFd peer(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    ucred who{};
    socklen_t size = sizeof who;
    if (!peer || ::getsockopt(peer.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return;
    if (auto known = bridges_.find(who.uid); known != bridges_.end()) return known->second->renew_channel(std::move(peer));
    auto bridge = ChannelBridge::in_guest(std::move(peer), "/nowhere", [](FrameType type, const std::string&, AgentReply reply) { answer(type, reply); });
    if (bridge.ok()) bridges_.emplace(who.uid, *std::move(bridge));
  }

  int listener_;
  std::map<uid_t, std::unique_ptr<ChannelBridge>> bridges_;
};

int listen_at(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool listens = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && ::listen(fd, 64) == 0;
  return listens ? fd : -1;
}

}  // namespace
}  // namespace harena::microvm::testing

int main(int argc, char** argv) {
  const int listener = argc == 2 ? harena::microvm::testing::listen_at(argv[1]) : -1;
  if (listener < 0) {
    std::fprintf(stderr, "fake_guest SOCKET: %s\n", argc == 2 ? std::strerror(errno) : "one argument");
    return 2;
  }
  std::printf("ready\n");
  std::fflush(stdout);
  harena::microvm::testing::Guests(listener).serve();
}
