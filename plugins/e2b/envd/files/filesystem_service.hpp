#pragma once
// E2B's filesystem service: stat, list, make, move, remove, watch by stream and by polling.

#include <string_view>

#include "plugins/e2b/envd/connect/rpc.hpp"
#include "plugins/e2b/envd/envd_call.hpp"
#include "plugins/e2b/envd/files/watchers.hpp"

namespace harena::e2b {

class FilesystemService {
 public:
  /// Borrows both.
  FilesystemService(RandomSource& random, const Clock& clock) : watchers_(random, clock) {}

  using Method = http::Task<Status> (FilesystemService::*)(EnvdCall&, Rpc&);
  /// By the last part of the path; null for an unknown one.
  static Method method(std::string_view name);
  static bool streams(std::string_view name) { return name == "WatchDir"; }

 private:
  http::Task<Status> stat(EnvdCall& call, Rpc& rpc);
  http::Task<Status> make_dir(EnvdCall& call, Rpc& rpc);
  http::Task<Status> move(EnvdCall& call, Rpc& rpc);
  http::Task<Status> list_dir(EnvdCall& call, Rpc& rpc);
  http::Task<Status> remove(EnvdCall& call, Rpc& rpc);
  http::Task<Status> watch_dir(EnvdCall& call, Rpc& rpc);
  http::Task<Status> create_watcher(EnvdCall& call, Rpc& rpc);
  http::Task<Status> get_watcher_events(EnvdCall& call, Rpc& rpc);
  http::Task<Status> remove_watcher(EnvdCall& call, Rpc& rpc);

  Watchers watchers_;
};

}  // namespace harena::e2b
