#pragma once
// Signals as events: blocked in all threads and read from a descriptor, so that no handler interrupts anything.

#include <atomic>
#include <csignal>
#include <functional>
#include <initializer_list>
#include <string>
#include <thread>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::cli {

/// Blocks some signals as long as it lives. Make it before any thread, so that all of them inherit the mask.
class BlockedSignals {
 public:
  static Result<BlockedSignals> block(std::initializer_list<int> signals);
  BlockedSignals(BlockedSignals&& other) noexcept;
  BlockedSignals& operator=(BlockedSignals&&) = delete;
  ~BlockedSignals();

  /// Readable when one has come.
  int fd() const { return fd_.get(); }
  /// The next one; 0 when there is none.
  int take() const;

 private:
  BlockedSignals(UniqueFd fd, const sigset_t& before) : fd_(std::move(fd)), before_(before) {}
  UniqueFd fd_;
  sigset_t before_;
};

/// Calls `on_signal` in a thread of its own for each signal that comes, until it is destroyed.
class SignalWatcher {
 public:
  SignalWatcher(const BlockedSignals& signals, std::function<void(int)> on_signal);
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

 private:
  void run();
  const BlockedSignals& signals_;
  std::function<void(int)> on_signal_;
  UniqueFd stop_;
  std::thread thread_;
};

/// "INT" for SIGINT.
std::string signal_name(int number);
/// The inverse; 0 for an unknown name.
int signal_number(const std::string& name);

/// A descriptor (eventfd) for waking a poll from another thread.
Result<UniqueFd> make_wakeup();
void wake(const UniqueFd& wakeup);

}  // namespace harena::cli
