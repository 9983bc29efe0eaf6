#include "shim/spool.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace harena::shim {
namespace {

Spool::Took outcome(ssize_t moved) {
  if (moved > 0) return Spool::Took::some;
  if (moved == 0) return Spool::Took::end;
  return errno == EAGAIN || errno == EINTR ? Spool::Took::nothing_now : Spool::Took::end;
}

}  // namespace

Spool::~Spool() { discard(); }

void Spool::discard() {
  if (!made_) return;
  (void)fd();
  ::unlink(path_.c_str());
  budget_.used -= kept_;
  made_ = false;
  full_ = true;
}

bool Spool::open_file() {
  if (file_) return true;
  file_ = UniqueFd(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file_) close_for_good("disk");
  made_ = static_cast<bool>(file_);
  return made_;
}

int Spool::fd() {
  if (!file_ && made_) file_ = UniqueFd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return file_.get();
}

void Spool::close_for_good(std::string_view why) {
  full_ = true;
  limited_by_ = why;
}

std::size_t Spool::room(std::size_t wanted) {
  if (full_) return 0;
  std::uint64_t left = limit_ - kept_;
  if (left == 0) return 0;
  std::uint64_t want = std::min<std::uint64_t>(wanted, left);
  if (budget_.used + want > budget_.cap) budget_.make_room(want);
  std::uint64_t allowed = budget_.cap > budget_.used ? budget_.cap - budget_.used : 0;
  if (allowed == 0) {
    close_for_good("sandbox");
    return 0;
  }
  return open_file() ? static_cast<std::size_t>(std::min(want, allowed)) : 0;
}

void Spool::count(std::size_t bytes, bool keep) {
  total_ += bytes;
  if (keep) {
    kept_ += bytes;
    budget_.used += bytes;
  } else if (bytes > 0) {
    full_ = true;
  }
}

Spool::Took Spool::drop(int pipe, std::size_t max) {
  auto moved = ::splice(pipe, nullptr, null_fd_, nullptr, max, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
  if (moved > 0) count(static_cast<std::size_t>(moved), false);
  return outcome(moved);
}

Spool::Took Spool::take_first(int pipe) {
  std::array<char, 4096> buffer;
  auto got = ::read(pipe, buffer.data(), buffer.size());
  if (got > 0) append({buffer.data(), static_cast<std::size_t>(got)});
  return outcome(got);
}

Spool::Took Spool::take(int pipe, std::size_t max) {
  // A stream that only ends must not cost a file.
  if (!file_ && !full_) return take_first(pipe);
  auto space = room(max);
  if (space == 0) return drop(pipe, max);
  auto offset = static_cast<loff_t>(kept_);
  auto moved = ::splice(pipe, nullptr, file_.get(), &offset, space, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
  if (moved > 0) count(static_cast<std::size_t>(moved), true);
  if (moved < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO || errno == EFBIG)) {
    close_for_good("disk");
    return drop(pipe, max);
  }
  return outcome(moved);
}

void Spool::append(std::string_view bytes) {
  while (!bytes.empty()) {
    auto space = room(bytes.size());
    if (space == 0) return count(bytes.size(), false);
    auto wrote = ::pwrite(file_.get(), bytes.data(), space, static_cast<off_t>(kept_));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      close_for_good("disk");
      continue;
    }
    count(static_cast<std::size_t>(wrote), true);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

}  // namespace harena::shim
