#pragma once
// Watches that are asked for their events, for clients that can't hold a stream: CreateWatcher, GetWatcherEvents, RemoveWatcher.
//
// The one state that this plugin has: a watcher lives in the replica that made it, and is gone with it (not_found then).

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "plugins/e2b/envd/files/watch.hpp"
#include "sdk/base/clock.hpp"
#include "sdk/base/random.hpp"

namespace harena::e2b {

class Watchers {
 public:
  static constexpr std::size_t kMaxWatchers = 4096;
  /// Kept between two polls; one more and the next poll is data_loss.
  static constexpr std::size_t kMaxEvents = 65'536;
  /// Not asked for so long, it is dropped.
  static constexpr std::int64_t kForgottenMs = 10 * 60 * 1000;

  /// Borrows both.
  Watchers(RandomSource& random, const Clock& clock) : random_(random), clock_(clock) {}

  /// Takes a watch that is open, goes on reading it on the executor of the caller; the new id. resource_exhausted.
  http::Task<Result<std::string>> add(std::string sandbox, std::unique_ptr<FolderWatch> watch);
  /// What happened since the last call. not_found: no such watcher in this sandbox. Also the error that ended the watch, once.
  Result<std::vector<filesystem::FilesystemEvent>> take(const std::string& sandbox, const std::string& id);
  Status remove(const std::string& sandbox, const std::string& id);

 private:
  struct Watcher;
  static http::Task<void> pump(std::shared_ptr<Watcher> watcher);
  void drop_forgotten();

  RandomSource& random_;
  const Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Watcher>> watchers_;
};

}  // namespace harena::e2b
