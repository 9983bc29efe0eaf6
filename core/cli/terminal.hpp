#pragma once
// The user's own terminal.

#include <termios.h>

#include "sdk/base/result.hpp"
#include "sdk/client/commands.hpp"

namespace harena::cli {

/// Of the terminal on stdin or, failing that, stdout; 24 x 80 when there is none.
client::PtySize window_size();

/// Puts the terminal on stdin into raw mode; the destructor puts it back.
class RawMode {
 public:
  static Result<RawMode> enter();
  RawMode(RawMode&& other) noexcept;
  RawMode& operator=(RawMode&&) = delete;
  ~RawMode();

 private:
  explicit RawMode(const termios& before) : before_(before), active_(true) {}
  termios before_;
  bool active_;
};

}  // namespace harena::cli
