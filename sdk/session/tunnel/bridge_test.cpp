#include "sdk/session/tunnel/bridge.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include "sdk/session/tunnel/agent_messages.hpp"

namespace harena::session {
namespace {

std::pair<UniqueFd, UniqueFd> channel_pair() {
  int fds[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  return address;
}

UniqueFd listen_at(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto address = address_of(path);
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(fd.get(), 64), 0);
  return fd;
}

UniqueFd connect_to(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto address = address_of(path);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return fd;
}

/// Echoes what comes, and ends when the other does; at its own end it hangs up, whatever is still open.
class EchoServer {
 public:
  explicit EchoServer(const std::string& path) : listener_(listen_at(path)), thread_([this] { serve(); }) {}
  ~EchoServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
    for (auto& one : clients_) ::shutdown(one.socket.get(), SHUT_RDWR);
    for (auto& one : clients_) one.thread.join();
  }

 private:
  struct Client {
    UniqueFd socket;
    std::thread thread;
  };
  void serve() {
    for (;;) {
      const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      clients_.push_back({UniqueFd(fd), std::thread([fd] {
                            echo(fd);
                            ::shutdown(fd, SHUT_RDWR);
                          })});
    }
  }
  static void echo(int fd) {
    char buffer[8192];
    for (ssize_t got; (got = ::read(fd, buffer, sizeof buffer)) > 0;) {
      for (ssize_t at = 0; at < got;) {
        const auto put = ::send(fd, buffer + at, static_cast<std::size_t>(got - at), MSG_NOSIGNAL);
        if (put <= 0) return;
        at += put;
      }
    }
  }
  UniqueFd listener_;
  std::vector<Client> clients_;
  std::thread thread_;
};

class BridgeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/harena-bridge-XXXXXX";
    folder_ = ::mkdtemp(name);
    host_ = *ChannelBridge::on_host(random_);
  }
  void TearDown() override {
    host_.reset();
    guest_.reset();
    std::filesystem::remove_all(folder_);
  }
  void start(AgentHandler agent = {}) {
    auto [a, b] = channel_pair();
    guest_ = *ChannelBridge::in_guest(std::move(b), folder_ + "/shim.sock", std::move(agent));
    host_->replace_channel(std::move(a), LinkStart::new_epoch);
    host_->listen(listen_at(folder_ + "/session.sock"));
  }
  UniqueFd client() { return connect_to(folder_ + "/session.sock"); }

  /// Both bridges' turns, until `done`.
  void run_until(const std::function<bool()>& done) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!done()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "nothing comes any more";
      pollfd fds[] = {{host_->fd(), POLLIN, 0}, {guest_ ? guest_->fd() : -1, POLLIN, 0}};
      ::poll(fds, 2, 20);
      last_ = host_->turn();
      const bool fine = !guest_ || guest_->turn().ok();
      ASSERT_TRUE(fine);
    }
  }
  /// Sends `bytes`, ends, and reads to the end, while the bridges turn.
  std::string echo(int fd, const std::string& bytes) {
    std::size_t sent = 0;
    std::string got;
    bool ended = false;
    if (bytes.empty()) ::shutdown(fd, SHUT_WR);
    run_until([&] {
      if (sent < bytes.size()) {
        const auto put = ::send(fd, bytes.data() + sent, bytes.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (put > 0) sent += static_cast<std::size_t>(put);
        if (sent == bytes.size()) ::shutdown(fd, SHUT_WR);
      }
      char buffer[65536];
      const auto count = ::recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
      if (count > 0) got.append(buffer, static_cast<std::size_t>(count));
      ended = count == 0;
      return ended;
    });
    return got;
  }

  SystemRandom random_;
  std::string folder_;
  std::unique_ptr<ChannelBridge> host_, guest_;
  Status last_;
};

TEST_F(BridgeTest, ConnectionsReachTheEndpointInTheGuest) {
  EchoServer server(folder_ + "/shim.sock");
  start();
  std::string bytes(3'000'000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 % 251);
  for (int i = 0; i < 3; ++i) {
    auto fd = client();
    EXPECT_EQ(echo(fd.get(), bytes), bytes);
  }
  run_until([&] { return host_->connections() == 0 && guest_->connections() == 0; });
}

TEST_F(BridgeTest, AClientThatDoesNotReadHoldsUpNobody) {
  EchoServer server(folder_ + "/shim.sock");
  start();
  auto lazy = client();
  const std::string much(1 << 20, 'l');
  for (int i = 0; i < 20; ++i) {
    (void)!::send(lazy.get(), much.data(), much.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)host_->turn();
    (void)guest_->turn();
  }
  auto other = client();
  EXPECT_EQ(echo(other.get(), "quick"), "quick");
  lazy.reset();
  run_until([&] { return host_->connections() == 0 && guest_->connections() == 0; });
}

TEST_F(BridgeTest, WithoutAnEndpointTheConnectionIsClosed) {
  start();
  auto fd = client();
  EXPECT_EQ(echo(fd.get(), ""), "");
  run_until([&] { return host_->connections() == 0; });
}

TEST_F(BridgeTest, TheAgentAnswersAndItsErrorsKeepTheirCode) {
  start([](FrameType type, std::string payload, AgentReply reply) {
    if (type == FrameType::agent_metrics) return reply(std::string(200'000, 'm'));
    if (type == FrameType::agent_renew) return reply(std::string(*decode<RenewRequest>(payload) == RenewRequest{} ? "same" : "other"));
    reply(make_error(ErrorCode::not_found, "no disk 'x'"));
  });
  std::vector<Result<std::string>> answers;
  const auto keep = [&](Result<std::string> answer) { answers.push_back(std::move(answer)); };
  host_->ask(MetricsRequest{}, 0, keep);
  run_until([&] { return answers.size() == 1; });
  EXPECT_EQ(answers[0].value().size(), 200'000u);
  host_->ask(ConfigureRequest{}, 0, keep);
  run_until([&] { return answers.size() == 2; });
  ASSERT_FALSE(answers[1].ok());
  EXPECT_EQ(answers[1].error().code, ErrorCode::not_found);
  EXPECT_EQ(answers[1].error().message, "no disk 'x'");
  RenewRequest large;
  large.identity.entropy = std::string(300'000, 'e');
  host_->ask(large, 0, keep);
  run_until([&] { return answers.size() == 3; });
  EXPECT_EQ(answers[2].value(), "other");
}

TEST_F(BridgeTest, TheClockInAQuestionIsCarriedOnWhileItWaitsForTheGuest) {
  constexpr std::int64_t kAsked = 1'000'000'000'000'000'000;
  Result<std::string> answer = make_error(ErrorCode::unknown, "none yet");
  RenewRequest request;
  request.identity.wall_ns = kAsked;
  host_->ask(request, 0, [&](Result<std::string> result) { answer = std::move(result); });
  const auto asked = std::chrono::steady_clock::now();
  // The guest takes its time to boot.
  while (std::chrono::steady_clock::now() - asked < std::chrono::milliseconds(20)) (void)host_->turn();
  start([](FrameType, std::string payload, AgentReply reply) { reply(std::to_string(decode<RenewRequest>(payload)->identity.wall_ns)); });
  run_until([&] { return answer.ok(); });
  const auto waited = std::stoll(*answer) - kAsked;
  EXPECT_GE(waited, 20'000'000);
  EXPECT_LE(waited, (std::chrono::steady_clock::now() - asked).count());
}

TEST_F(BridgeTest, AnAskEndsExactlyOnceWhateverHappens) {
  std::vector<AgentReply> never;
  start([&](FrameType, std::string, AgentReply reply) { never.push_back(std::move(reply)); });
  std::vector<ErrorCode> ends;
  const auto keep = [&](Result<std::string> answer) { ends.push_back(answer.ok() ? ErrorCode::ok : answer.error().code); };
  host_->ask(MetricsRequest{}, 30, keep);
  run_until([&] { return ends.size() == 1; });
  EXPECT_EQ(ends[0], ErrorCode::deadline_exceeded);
  host_->ask(MetricsRequest{}, 0, keep);
  run_until([&] { return never.size() == 2; });
  auto [a, b] = channel_pair();
  host_->replace_channel(std::move(a), LinkStart::new_epoch);
  (void)host_->turn();
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[1], ErrorCode::aborted);
  host_->ask(MetricsRequest{}, 0, keep);
  host_.reset();
  ASSERT_EQ(ends.size(), 3u);
  EXPECT_EQ(ends[2], ErrorCode::unavailable);
  for (auto& reply : never) reply(std::string("late"));
  guest_.reset();
  never[0](std::string("later still"));
}

/// vsock: a snapshot resets the connection of host and guest, in the middle of whatever is under way; both get a new one.
TEST_F(BridgeTest, ConnectionsLiveOnWhenTheHostConnectsAnew) {
  EchoServer server(folder_ + "/shim.sock");
  start();
  auto fd = client();
  std::string bytes(1'000'000, '\0'), got;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 11 % 253);
  std::size_t sent = 0;
  const auto exchange_until = [&](std::size_t size) {
    run_until([&] {
      if (sent < bytes.size()) {
        const auto put = ::send(fd.get(), bytes.data() + sent, bytes.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (put > 0) sent += static_cast<std::size_t>(put);
      }
      char buffer[65536];
      const auto count = ::recv(fd.get(), buffer, sizeof buffer, MSG_DONTWAIT);
      if (count > 0) got.append(buffer, static_cast<std::size_t>(count));
      return got.size() >= size;
    });
  };
  for (std::size_t part = 1; part <= 10 && !HasFailure(); ++part) {
    exchange_until(bytes.size() * part / 10);
    auto [host_end, guest_end] = channel_pair();
    guest_->renew_channel(std::move(guest_end));
    // The guest may write on what is new before the host has said a word there, and the host may see the end of the old one first.
    const bool guest_first = part % 2 != 0 || guest_->turn().ok();
    const bool host_sees = part % 3 != 0 || host_->turn().ok();
    EXPECT_TRUE(guest_first && host_sees);
    host_->replace_channel(std::move(host_end), LinkStart::go_on);
  }
  EXPECT_TRUE(got == bytes) << got.size() << " bytes";
  EXPECT_EQ(host_->connections(), 1u);
}

/// The guest's end of the pipe stays the same descriptor in a real machine; here a relay stands for the VMM between the two, and is replaced.
TEST_F(BridgeTest, ConnectionsLiveOnWhenTheVmmIsReplaced) {
  EchoServer server(folder_ + "/shim.sock");
  auto [guest_outer, guest_end] = channel_pair();
  guest_ = *ChannelBridge::in_guest(std::move(guest_end), folder_ + "/shim.sock", {});
  host_->listen(listen_at(folder_ + "/session.sock"));
  UniqueFd vmm;
  const auto new_vmm = [&](LinkStart how) {
    auto [a, b] = channel_pair();
    vmm = std::move(b);
    host_->replace_channel(std::move(a), how);
  };
  new_vmm(LinkStart::new_epoch);
  std::size_t moved = 0;
  const auto relay = [&](int from, int to, std::size_t most) {
    char buffer[4096];
    const auto count = ::recv(from, buffer, std::min(most, sizeof buffer), MSG_DONTWAIT);
    if (count > 0 && ::send(to, buffer, static_cast<std::size_t>(count), MSG_NOSIGNAL) == count) moved += static_cast<std::size_t>(count);
  };
  auto fd = client();
  std::string bytes(2'000'000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 13 % 241);
  std::size_t sent = 0, replaced = 0;
  std::string got;
  run_until([&] {
    for (int i = 0; i < 8; ++i) {
      relay(vmm.get(), guest_outer.get(), 3'777);
      relay(guest_outer.get(), vmm.get(), 2'999);
    }
    // What is in the old VMM's sockets is lost with it.
    if (moved > (replaced + 1) * 300'000 && replaced < 10 && ++replaced) new_vmm(LinkStart::go_on);
    if (sent < bytes.size()) {
      const auto put = ::send(fd.get(), bytes.data() + sent, bytes.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (put > 0) sent += static_cast<std::size_t>(put);
      if (sent == bytes.size()) ::shutdown(fd.get(), SHUT_WR);
    }
    char buffer[65536];
    const auto count = ::recv(fd.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (count > 0) got.append(buffer, static_cast<std::size_t>(count));
    return count == 0;
  });
  EXPECT_EQ(replaced, 10u);
  EXPECT_TRUE(last_.ok()) << last_.error().message;
  EXPECT_EQ(got.size(), bytes.size());
  EXPECT_TRUE(got == bytes);
}

/// Its first stream has the number of one that the guest has answered on already.
TEST_F(BridgeTest, ACloneAnswersAHostThatCountsItsStreamsFromTheBeginning) {
  auto [guest_outer, guest_end] = channel_pair();
  const auto answer = [](FrameType, std::string, const AgentReply& reply) { reply(std::string("answer")); };
  guest_ = *ChannelBridge::in_guest(std::move(guest_end), folder_ + "/shim.sock", answer);
  for (int life = 0; life < 3; ++life) {
    host_ = *ChannelBridge::on_host(random_);
    auto [ours, vmm] = channel_pair();
    host_->replace_channel(std::move(ours), LinkStart::new_epoch);
    std::optional<bool> answered;
    host_->ask(MetricsRequest{}, 5'000, [&](Result<std::string> got) { answered = got.ok() && *got == "answer"; });
    run_until([&] {
      for (const auto& [from, to] : {std::pair(vmm.get(), guest_outer.get()), std::pair(guest_outer.get(), vmm.get())}) {
        char buffer[4096];
        const auto count = ::recv(from, buffer, sizeof buffer, MSG_DONTWAIT);
        if (count > 0) (void)::send(to, buffer, static_cast<std::size_t>(count), MSG_NOSIGNAL);
      }
      return answered.has_value();
    });
    EXPECT_EQ(answered, true) << "life " << life;
  }
}

TEST_F(BridgeTest, AGuestThatSpeaksNonsenseIsCutOff) {
  auto [a, b] = channel_pair();
  host_->replace_channel(std::move(a), LinkStart::new_epoch);
  host_->listen(listen_at(folder_ + "/session.sock"));
  auto fd = client();
  std::string sync;
  run_until([&] {
    char buffer[65536];
    const auto count = ::recv(b.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (count > 0) sync.append(buffer, static_cast<std::size_t>(count));
    return sync.find("HARENA-SYNC-1") != std::string::npos && sync.size() >= sync.find("HARENA-SYNC-1") + 63;
  });
  const auto at = sync.find("\x1dHARENA-SYNC-1");
  std::string answer = sync.substr(at + 16, 16) + std::string(16, '\0') + std::string(50, '\xee');
  ASSERT_EQ(::send(b.get(), answer.data(), answer.size(), 0), static_cast<ssize_t>(answer.size()));
  run_until([&] { return !last_.ok(); });
  EXPECT_EQ(last_.error().code, ErrorCode::data_loss);
  char byte;
  EXPECT_EQ(::recv(fd.get(), &byte, 1, 0), 0) << "its connections are closed";
  EXPECT_FALSE(host_->has_channel());
}

}  // namespace
}  // namespace harena::session
