#pragma once
// TestRegistry: Debian's docker-registry on a free port of loopback, for one test.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "core/image/test_tar.hpp"
#include "sdk/base/unique_fd.hpp"

extern char** environ;

namespace harena::image {

class TestRegistry {
 public:
  explicit TestRegistry(const std::string& folder) {
    if (std::system("docker-registry --version >/dev/null 2>&1") != 0) {
      why_not_ = "docker-registry isn't installed";
      return;
    }
    if (std::system("skopeo --version >/dev/null 2>&1") != 0) {
      why_not_ = "skopeo isn't installed";
      return;
    }
    // docker-registry doesn't tell which port it was given, so a free one is found first; another may take it meanwhile.
    for (int attempt = 0; attempt < 5 && pid_ < 0; ++attempt) start(folder, free_port());
    if (pid_ < 0) why_not_ = "docker-registry didn't start";
  }
  ~TestRegistry() { stop(); }
  TestRegistry(const TestRegistry&) = delete;
  TestRegistry& operator=(const TestRegistry&) = delete;

  bool running() const { return pid_ > 0; }
  const std::string& why_not() const { return why_not_; }
  const std::string& address() const { return address_; }
  int push(const std::string& from, const std::string& to) const {
    return std::system(("skopeo --insecure-policy copy -q --dest-tls-verify=false " + from + " docker://" + address_ + "/" + to + " >/dev/null").c_str());
  }
  void stop() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  static sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
  }
  static int free_port() {
    const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    auto address = loopback(0);
    socklen_t size = sizeof address;
    ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
  }
  static bool answers(int port) {
    const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto address = loopback(port);
    return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  void start(const std::string& folder, int port) {
    address_ = "127.0.0.1:" + std::to_string(port);
    const auto config = folder + "/config.yml";
    write_file(config, "version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: " + folder + "/data}}\nhttp: {addr: " + address_ + "}\n");
    const auto log = folder + "/log";
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
    std::string words[] = {"docker-registry", "serve", config};
    char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    const int failure = ::posix_spawnp(&pid_, argv[0], &actions, nullptr, argv, environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failure != 0) pid_ = -1;
    // There is no event for "it listens now" of a foreign program: ask until it answers or ends.
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (pid_ > 0 && !answers(port)) {
      const bool ended = ::waitpid(pid_, nullptr, WNOHANG) == pid_;
      if (!ended && std::chrono::steady_clock::now() < until) {
        ::poll(nullptr, 0, 10);
        continue;
      }
      if (!ended) stop();
      pid_ = -1;
    }
  }

  pid_t pid_ = -1;
  std::string address_;
  std::string why_not_;
};

}  // namespace harena::image
