#include "plugins/statestore-sqlite/log_flusher.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "sdk/base/signal_mask.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::sqlite {
namespace {

// Half of the promised second: the rest is for the sync itself. Many commits share one.
constexpr std::chrono::milliseconds kDelay{500};

/// SQLite holds its locks on the database and its -shm file, never on the log: closing another descriptor of that drops none.
bool sync_file(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno == ENOENT;  // no log yet, or no longer: nothing is in it
  return ::fdatasync(file.get()) == 0;
}

}  // namespace

LogFlusher::LogFlusher(const std::string& database) : log_(database + "-wal"), thread_([this] { run(); }) {}

LogFlusher::~LogFlusher() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LogFlusher::left_unsynced() {
  std::lock_guard lock(mutex_);
  if (std::exchange(pending_, true)) return;
  changed_.notify_all();
}

void LogFlusher::synced() {
  std::lock_guard lock(mutex_);
  pending_ = false;
}

bool LogFlusher::failed() const {
  std::lock_guard lock(mutex_);
  return failed_;
}

/// True when there is something to flush, whose time has come; false at the end.
bool LogFlusher::wait_for_work() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return pending_ || ending_; });
  changed_.wait_for(lock, kDelay, [&] { return ending_; });
  return !ending_;
}

void LogFlusher::flush() {
  {
    std::lock_guard lock(mutex_);
    if (!std::exchange(pending_, false)) return;  // a synced commit was faster
  }
  if (sync_file(log_)) return;
  std::lock_guard lock(mutex_);
  failed_ = true;
}

void LogFlusher::run() {
  block_all_signals();
  while (wait_for_work()) flush();
  flush();
}

}  // namespace harena::sqlite
