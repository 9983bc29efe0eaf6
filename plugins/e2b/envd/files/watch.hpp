#pragma once
// What happens in a folder: Harena's watch, as E2B's events.

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "plugins/e2b/envd/envd_call.hpp"
#include "plugins/e2b/envd/proto/filesystem.pb.h"

namespace harena::e2b {

struct WatchWish {
  /// Absolute.
  std::string path;
  bool recursive = false;
  bool include_entry = false;
  bool allow_network_mounts = false;
};

/// One line of the API's stream as E2B's events, names relative to `folder`: a rename is a RENAME of the old name and a CREATE of the
/// new one. Empty for signs of life. data_loss when more happened than was kept. Pure.
Result<std::vector<filesystem::FilesystemEvent>> watch_events(const nlohmann::json& line, const std::string& folder);
/// Whether the longest mount point above `path` is of a network or user file system, from a mountinfo. Pure.
bool on_network_mount(std::string_view mountinfo, std::string_view path);

/// A folder that is being watched, on a connection of its own.
class FolderWatch {
 public:
  /// Borrows the client.
  FolderWatch(SandboxAccess sandbox, frontend::ApiClient& client, WatchWish wish)
      : wish_(std::move(wish)), watched_(sandbox, client), looked_(std::move(sandbox), client) {}

  /// Returns when nothing can be missed any more. not_found, invalid_argument (no folder; a network mount that wasn't allowed).
  http::Task<Status> open();
  /// The next events, at least one, and those that came with it; none at the end of the watch (the folder is gone).
  http::Task<Result<std::vector<filesystem::FilesystemEvent>>> next();

 private:
  http::Task<Status> refuse_network_mount();
  http::Task<Result<std::optional<nlohmann::json>>> next_line();
  bool line_at_hand() const { return buffer_.find('\n') != std::string::npos; }
  http::Task<void> add_entry(filesystem::FilesystemEvent& event);

  WatchWish wish_;
  /// The stream is on one connection, what is asked about its events on the other.
  SandboxCall watched_;
  SandboxCall looked_;
  std::string buffer_;
  /// What ended the watch behind the events that were told last.
  Status end_;
};

}  // namespace harena::e2b
