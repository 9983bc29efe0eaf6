#pragma once
// One output stream of a command, on disk, with a number for every byte: written once, up to a limit, read by anyone at any
// time. Behind the limit bytes are counted and dropped.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "sdk/base/unique_fd.hpp"

namespace harena::shim {

/// What all spools of a sandbox may have on disk together.
struct SpoolBudget {
  std::uint64_t cap = 1ull << 30;
  std::uint64_t used = 0;
  /// Asked for room before anything is dropped; evicts results of ended commands.
  std::function<void(std::uint64_t wanted)> make_room = [](std::uint64_t) {};
};

class Spool {
 public:
  /// The file is made with the first byte. `null_fd`: where dropped bytes are spliced to.
  Spool(std::string path, std::uint64_t limit, SpoolBudget& budget, int null_fd)
      : path_(std::move(path)), limit_(limit), budget_(budget), null_fd_(null_fd) {}
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;
  /// Removes the file and gives its bytes back to the budget.
  ~Spool();

  enum class Took { some, nothing_now, end };
  /// Moves what a non-blocking pipe has, at most `max`, without a copy through the shim.
  Took take(int pipe, std::size_t max);
  /// For what can't be spliced (a PTY).
  void append(std::string_view bytes);

  /// Bytes written by the command; bytes that can be read: [0, kept).
  std::uint64_t total() const { return total_; }
  std::uint64_t kept() const { return kept_; }
  bool truncated() const { return total_ > kept_; }
  /// "stream", "sandbox" or "disk"; meaningful when truncated.
  const std::string& limited_by() const { return limited_by_; }
  /// For reading; opened again if it was at rest. -1 before the first byte.
  int fd();
  /// Nothing more is written, and nobody reads just now: a thousand ended commands hold no descriptors.
  void rest() {
    if (made_) file_.reset();
  }
  /// Removes the file and gives its bytes back now, not only when the last reader has gone: whoever reads it goes on.
  void discard();

 private:
  /// How many of `wanted` bytes may be kept.
  std::size_t room(std::size_t wanted);
  bool open_file();
  void close_for_good(std::string_view why);
  void count(std::size_t bytes, bool keep);
  Took take_first(int pipe);
  Took drop(int pipe, std::size_t max);

  std::string path_;
  std::uint64_t limit_;
  SpoolBudget& budget_;
  int null_fd_;
  UniqueFd file_;
  bool made_ = false;
  std::uint64_t total_ = 0;
  std::uint64_t kept_ = 0;
  /// Once a byte was dropped no later one is kept: offsets stay those of the stream.
  bool full_ = false;
  std::string limited_by_ = "stream";
};

}  // namespace harena::shim
