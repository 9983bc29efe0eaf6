#pragma once
// How a daemon starts what outlives it: posix_spawn(3), since a large process with threads must never fork by itself.

#include <spawn.h>

namespace harena {

/// A session of its own (what signals the daemon's terminal or group must not end the child), no signal blocked, none ignored or handled.
class OwnSession {
 public:
  OwnSession();
  ~OwnSession() { ::posix_spawnattr_destroy(&attributes_); }
  OwnSession(const OwnSession&) = delete;
  OwnSession& operator=(const OwnSession&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

}  // namespace harena
