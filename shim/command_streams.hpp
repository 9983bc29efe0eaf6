#pragma once
// The two ends of a command's stdio that the shim holds: output that is drained into a spool, input that is fed.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "shim/event_loop.hpp"
#include "shim/spool.hpp"

namespace harena::shim {

/// Drains one pipe or PTY master into a spool, at most kDrainBytes a turn so that no command starves another.
class OutputPump {
 public:
  using OnBytes = std::function<void()>;
  OutputPump(EventLoop& loop, std::shared_ptr<Spool> spool) : loop_(loop), spool_(std::move(spool)) {}
  ~OutputPump() { close(); }

  /// `is_pty`: read and append, and a hang-up is the end.
  void open(UniqueFd fd, bool is_pty, OnBytes on_bytes);
  /// Takes all that is there now, also past kDrainBytes up to what a pipe holds.
  void drain_now();
  bool at_end() const { return !fd_; }
  void close();

 private:
  static constexpr std::size_t kDrainBytes = 1 << 20;
  static constexpr int kBigPipeBytes = 512 << 10;
  Spool::Took take_once();
  void drain(std::size_t at_most);

  EventLoop& loop_;
  std::shared_ptr<Spool> spool_;
  UniqueFd fd_;
  bool is_pty_ = false;
  bool grown_ = false;
  OnBytes on_bytes_;
  EventLoop::Id watch_ = 0;
};

/// The write end of a command's stdin.
class InputFeed {
 public:
  explicit InputFeed(EventLoop& loop) : loop_(loop) {}
  ~InputFeed() { close(); }

  /// `is_pty`: a duplicate of the master (epoll knows each descriptor once); its end is the end-of-file character.
  void open(UniqueFd fd, bool is_pty);
  /// Open to clients: not while feed() has it, nor behind end().
  bool is_open() const { return is_live() && !file_ && !ending_; }
  /// end() was called: nothing comes behind what was taken.
  bool was_ended() const { return ending_; }
  /// Hands over the file's bytes and then the end, at the command's own pace; nobody else may write any more.
  void feed(UniqueFd file);
  /// Bytes taken by the pipe since the start.
  std::uint64_t taken() const { return taken_; }
  /// Writes what fits; the number of bytes taken, or -1 when the reader is gone.
  std::int64_t write(std::string_view bytes);
  /// Calls `ready` once, when more fits or the reader is gone.
  void when_writable(std::function<void()> ready);
  void stop_waiting() {
    if (file_ || ending_) return;
    loop_.forget(watch_);
    ready_.reset();
  }
  void end();
  void close();

 private:
  static constexpr std::size_t kFeedBytes = 64 << 10;
  bool is_live() const { return fd_ && !ended_; }
  std::int64_t put(std::string_view bytes);
  void feed_on();
  void finish_end();
  void call_ready_soon();

  EventLoop& loop_;
  UniqueFd fd_;
  /// What feed() takes from.
  UniqueFd file_;
  bool is_pty_ = false;
  bool ended_ = false;
  bool ending_ = false;
  /// End-of-file characters that the terminal has no room for yet.
  std::size_t ends_left_ = 0;
  bool at_line_start_ = true;
  std::uint64_t taken_ = 0;
  EventLoop::Id watch_ = 0;
  std::shared_ptr<std::function<void()>> ready_;
};

}  // namespace harena::shim
