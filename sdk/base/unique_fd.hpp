#pragma once
// UniqueFd: the owner of a file descriptor. Every descriptor in Harena is born CLOEXEC and lives in one of these.

#include <unistd.h>

#include <utility>

namespace harena {

class UniqueFd {
 public:
  UniqueFd() = default;
  /// Takes ownership; a negative number means none.
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  /// Closes the descriptor held until now. close(2) isn't repeated on EINTR: on Linux it is closed all the same.
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace harena
