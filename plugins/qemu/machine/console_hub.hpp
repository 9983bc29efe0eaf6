#pragma once
// ConsoleHub: the guest's serial line for any number of viewers. Each gets the last that the guest wrote, then what it writes; what any of
// them writes goes to the guest. A viewer that doesn't read is let go: the guest is never held up by one.

#include <map>
#include <string>

#include "sdk/base/unique_fd.hpp"
#include "sdk/vmm/event_loop.hpp"

namespace harena::qemu {

/// What is kept of the console.
inline constexpr std::size_t kConsoleBytes = 64 << 10;
inline constexpr std::size_t kMaxConsoleViewers = 16;
/// What the guest hasn't taken of its viewers' input; they aren't read while there is more.
inline constexpr std::size_t kMaxPendingInput = 4096;

class ConsoleHub {
 public:
  /// `line` (the guest's side, a stream socket) and `loop` outlive it. Viewers come at `path`.
  static Result<std::unique_ptr<ConsoleHub>> open(vmm::EventLoop& loop, int line, const std::string& path);
  ~ConsoleHub();
  const std::string& text() const { return text_; }
  /// Reads what the line still holds: of a machine that has ended.
  void drain();
  /// The line is about to be closed: its number may be another file's by the next attach(). Who watches stays; what they write is dropped.
  void detach();
  /// Another machine's line from now on. The former one has been detached or is still open.
  Status attach(int line);

 private:
  ConsoleHub(vmm::EventLoop& loop, int line) : loop_(loop), line_(line) {}
  void accept();
  bool take_output();
  void on_line(std::uint32_t events);
  void on_viewer(int fd);
  void drop(int fd);
  void send_input();
  void watch_viewers();
  Status watch_line();

  vmm::EventLoop& loop_;
  int line_;  ///< -1: none
  UniqueFd listener_;
  std::map<int, UniqueFd> viewers_;
  std::string text_, input_;
};

}  // namespace harena::qemu
