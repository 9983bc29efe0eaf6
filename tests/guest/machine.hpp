#pragma once
// A machine of the test's own: QEMU with an initramfs of this build, a layer of busybox, a writable disk, and the host's end of the tunnel.

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/session/tunnel/agent_messages.hpp"
#include "sdk/session/tunnel/bridge.hpp"

namespace harena::guest_test {

struct MachineOptions {
  int memory_mib = 256;
  bool disk = true;
  /// PID 1: a program of this build.
  std::string init = "harena-guest";
  /// Whether the host's end of the tunnel is served; else connect_channel() is the caller's.
  bool bridge = true;
  /// More words for QEMU.
  std::vector<std::string> qemu;
};

/// Why no machine can be started here; empty: it can.
std::string what_is_missing();

class Machine {
 public:
  explicit Machine(const MachineOptions& options = {});
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Every file of the machine; removed with it.
  const std::string& folder() const { return folder_; }
  std::string session_socket() const { return folder_ + "/session.sock"; }
  std::string console() const;
  pid_t qemu() const { return qemu_; }
  /// When QEMU was started.
  std::chrono::steady_clock::time_point started() const { return started_; }
  UniqueFd connect_channel();
  /// Ends within the time.
  bool wait_qemu_end(int seconds);

  static session::ConfigureRequest plain_request();
  /// Asks, and waits for the answer, whose payload is that of `ok`.
  Result<std::string> ask_raw(session::FrameType type, const std::string& payload);
  template <class Answer, class Request>
  Result<Answer> ask(const Request& request) {
    auto answer = std::make_shared<std::promise<Result<std::string>>>();
    const auto on_answer = [answer](Result<std::string> result) { answer->set_value(std::move(result)); };
    with_bridge([=](session::ChannelBridge& bridge) { bridge.ask(request, 60'000, on_answer); });
    HARENA_TRY(auto payload, answer->get_future().get());
    return session::decode<Answer>(payload);
  }
  template <class Request>
  Status tell(const Request& request) {
    HARENA_TRY(auto payload, ask_raw(Request::kType, session::encode(request)));
    (void)payload;
    return {};
  }
  /// Configures it, and opens session_socket().
  Result<session::ConfigureAnswer> configure(const session::ConfigureRequest& request);

  /// In the bridge's thread.
  void with_bridge(std::function<void(session::ChannelBridge&)> action);
  /// Connects to QEMU's end of the channel anew, as if another VMM had come.
  void reconnect(session::LinkStart start);
  /// What broke the tunnel, if anything.
  std::string broken();

 private:
  void make_files();
  void start_qemu();
  void serve();

  MachineOptions options_;
  std::string folder_;
  pid_t qemu_ = -1;
  std::chrono::steady_clock::time_point started_;
  SystemRandom random_;
  std::unique_ptr<session::ChannelBridge> bridge_;
  UniqueFd wake_;
  std::mutex mutex_;
  std::vector<std::function<void(session::ChannelBridge&)>> actions_;
  std::string broken_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace harena::guest_test
