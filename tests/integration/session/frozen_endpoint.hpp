#pragma once
// An endpoint of the first release: knows the types of that release and no other, reads exactly the requests that it was told to
// expect, byte for byte, and answers what that release answered.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "sdk/base/unique_fd.hpp"
#include "tests/integration/session/golden.hpp"

namespace harena::golden {

struct Exchange {
  /// Frames of the client, in order; then what is answered.
  std::vector<std::string> requests;
  std::string answer;
};

class FrozenEndpoint {
 public:
  FrozenEndpoint(std::string path, std::vector<Exchange> script) : path_(std::move(path)), script_(std::move(script)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
    listener_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~FrozenEndpoint() { finish(); }
  /// Ends it. "" when the whole script was played and nothing came that isn't in it, else what was wrong.
  std::string finish() {
    if (!thread_.joinable()) return surprise_;
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
    ::unlink(path_.c_str());
    if (surprise_.empty() && done_ < script_.size()) surprise_ = "exchange " + std::to_string(done_) + " never came";
    return surprise_;
  }

 private:
  bool next_frame(Frame& frame, std::string& whole) {
    for (;;) {
      std::string before = in_;
      if (take_frame(in_, frame)) return whole = before.substr(0, before.size() - in_.size()), true;
      char buffer[65536];
      auto got = ::read(socket_.get(), buffer, sizeof buffer);
      if (got <= 0) return false;
      in_.append(buffer, static_cast<std::size_t>(got));
    }
  }
  void say(const std::string& bytes) { (void)!::write(socket_.get(), bytes.data(), bytes.size()); }
  bool greet() {
    Frame frame;
    std::string whole;
    if (!next_frame(frame, whole)) return false;
    // Versions 1 to 1 are defaults and so not sent; other keys are above 0x8000 and may be skipped.
    bool good = frame.type == 0x01;
    for (const auto& [key, value] : attributes(frame.payload)) good = good && key >= 0x8000;
    if (!good) surprise_ = "hello";
    say(hello_ok());
    return good;
  }
  bool play(const Exchange& exchange) {
    for (const auto& expected : exchange.requests) {
      Frame frame;
      std::string whole;
      if (!next_frame(frame, whole)) return false;
      if (whole == expected) continue;
      surprise_ = "frame " + std::to_string(frame.type) + " of " + std::to_string(whole.size()) + " bytes instead of " +
                  std::to_string(expected.size()) + ": " + whole;
      return false;
    }
    say(exchange.answer);
    return true;
  }
  void serve() {
    while ((socket_ = UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)))) {
      in_.clear();
      if (!greet()) continue;
      while (done_ < script_.size() && play(script_[done_])) ++done_;
      // What isn't in the script ends the connection, as an unknown type did.
      Frame frame;
      std::string whole;
      if (done_ == script_.size() && next_frame(frame, whole)) {
        surprise_ = "frame " + std::to_string(frame.type) + " behind the script";
        say(golden::frame(0x04, number(1, 12) + text(2, "this endpoint doesn't know frame type")));
      }
    }
  }

  std::string path_;
  std::vector<Exchange> script_;
  UniqueFd listener_, socket_;
  std::string in_;
  std::string surprise_;
  std::size_t done_ = 0;
  std::thread thread_;
};

}  // namespace harena::golden
