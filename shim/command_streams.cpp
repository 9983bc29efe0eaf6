#include "shim/command_streams.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace harena::shim {

void OutputPump::open(UniqueFd fd, bool is_pty, OnBytes on_bytes) {
  fd_ = std::move(fd);
  is_pty_ = is_pty;
  on_bytes_ = std::move(on_bytes);
  // Of a pipe's end, no other flag can be changed; a PTY's master has it.
  if (!is_pty_) ::fcntl(fd_.get(), F_SETFL, O_NONBLOCK);
  watch_ = loop_.watch(fd_.get(), EPOLLIN, [this](std::uint32_t) { drain(kDrainBytes); });
}

Spool::Took OutputPump::take_once() {
  if (!is_pty_) return spool_->take(fd_.get(), kDrainBytes);
  std::array<char, 16384> buffer;
  auto got = ::read(fd_.get(), buffer.data(), buffer.size());
  if (got > 0) {
    spool_->append({buffer.data(), static_cast<std::size_t>(got)});
    return Spool::Took::some;
  }
  // EIO: no process has the terminal open any more.
  return got < 0 && (errno == EAGAIN || errno == EINTR) ? Spool::Took::nothing_now : Spool::Took::end;
}

void OutputPump::drain(std::size_t at_most) {
  if (!fd_) return;
  std::uint64_t before = spool_->total();
  auto took = Spool::Took::some;
  while (took == Spool::Took::some && spool_->total() - before < at_most) took = take_once();
  if (!is_pty_ && !grown_ && spool_->total() - before >= (64 << 10)) {
    grown_ = true;
    // A writer in bulk: fewer switches between it and the shim.
    ::fcntl(fd_.get(), F_SETPIPE_SZ, kBigPipeBytes);
  }
  if (took == Spool::Took::end) close();
  if (took == Spool::Took::end || spool_->total() != before) on_bytes_();
}

void OutputPump::drain_now() { drain(2 * kDrainBytes); }

void OutputPump::close() {
  loop_.forget(watch_);
  fd_.reset();
}

void InputFeed::open(UniqueFd fd, bool is_pty) {
  fd_ = std::move(fd);
  is_pty_ = is_pty;
  ::fcntl(fd_.get(), F_SETFL, ::fcntl(fd_.get(), F_GETFL) | O_NONBLOCK);
}

std::int64_t InputFeed::write(std::string_view bytes) { return is_open() ? put(bytes) : -1; }

void InputFeed::feed(UniqueFd file) {
  if (!is_live()) return;
  file_ = std::move(file);
  feed_on();
}

void InputFeed::feed_on() {
  std::array<char, kFeedBytes> block;
  for (;;) {
    auto got = ::pread(file_.get(), block.data(), block.size(), static_cast<off_t>(taken_));
    auto took = got > 0 ? put({block.data(), static_cast<std::size_t>(got)}) : 0;
    if (got > 0 && took == 0) return when_writable([this] { feed_on(); });
    if (got > 0 && took > 0) continue;
    // All of it, or the command closed its stdin.
    file_.reset();
    return end();
  }
}

std::int64_t InputFeed::put(std::string_view bytes) {
  std::int64_t done = 0;
  while (!bytes.empty()) {
    auto wrote = ::write(fd_.get(), bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && errno == EAGAIN) break;
    if (wrote <= 0) return done > 0 ? done : -1;
    at_line_start_ = bytes[static_cast<std::size_t>(wrote) - 1] == '\n';
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
    taken_ += static_cast<std::uint64_t>(wrote);
    done += wrote;
  }
  return done;
}

void InputFeed::when_writable(std::function<void()> ready) {
  loop_.forget(watch_);
  ready_ = std::make_shared<std::function<void()>>(std::move(ready));
  if (!is_live()) return call_ready_soon();
  watch_ = loop_.watch(fd_.get(), EPOLLOUT, [this](std::uint32_t) {
    loop_.forget(watch_);
    auto once = std::exchange(ready_, nullptr);
    (*once)();
  });
}

void InputFeed::call_ready_soon() {
  // Whoever waits may be gone by then: it took its function along (stop_waiting).
  if (ready_) loop_.defer([weak = std::weak_ptr(ready_)] {
    if (auto once = weak.lock()) (*once)();
  });
}

void InputFeed::end() {
  if (!is_open()) return;
  ending_ = true;
  // VEOF at the start of a line is end of file; in its middle the first one only hands the line over.
  if (is_pty_) ends_left_ = at_line_start_ ? 1 : 2;
  finish_end();
}

void InputFeed::finish_end() {
  while (ends_left_ > 0) {
    const auto wrote = ::write(fd_.get(), "\x04\x04", ends_left_);
    if (wrote < 0 && errno == EINTR) continue;
    // A terminal whose reader is slow is full.
    if (wrote < 0 && errno == EAGAIN) return when_writable([this] { finish_end(); });
    if (wrote <= 0) break;
    ends_left_ -= static_cast<std::size_t>(wrote);
  }
  loop_.forget(watch_);
  ended_ = true;
  fd_.reset();
}

void InputFeed::close() {
  loop_.forget(watch_);
  if (std::exchange(file_, UniqueFd())) ready_.reset();
  fd_.reset();
  ended_ = true;
  call_ready_soon();
}

}  // namespace harena::shim
