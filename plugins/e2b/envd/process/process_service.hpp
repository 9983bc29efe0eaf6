#pragma once
// E2B's process service: commands and terminals. Stateless: what a command is, its pid and its tag, the sandbox's own list says.

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "plugins/e2b/envd/connect/rpc.hpp"
#include "plugins/e2b/envd/envd_call.hpp"
#include "plugins/e2b/envd/proto/process.pb.h"
#include "sdk/base/random.hpp"

namespace harena::e2b {

/// What only the starter knew of a command: shown in lists of this replica, for Harena's list has neither. Thread-safe, bounded.
class ProcessNotes {
 public:
  void keep(const std::string& sandbox, const std::string& command, const process::ProcessConfig& config);
  void complete(const std::string& sandbox, const std::string& command, process::ProcessConfig& config) const;

 private:
  static constexpr std::size_t kMaxNotes = 4096;
  mutable std::mutex mutex_;
  std::map<std::string, process::ProcessConfig> notes_;
};

class ProcessService {
 public:
  /// Borrows `random`.
  explicit ProcessService(RandomSource& random) : random_(random) {}

  using Method = http::Task<Status> (ProcessService::*)(EnvdCall&, Rpc&);
  /// By the last part of the path; null for an unknown one.
  static Method method(std::string_view name);
  /// Whether the method is one of the streams: its content type has to be a stream's.
  static bool streams(std::string_view name) { return name == "Start" || name == "Connect" || name == "StreamInput"; }

 private:
  http::Task<Status> list(EnvdCall& call, Rpc& rpc);
  http::Task<Status> start(EnvdCall& call, Rpc& rpc);
  http::Task<Status> connect(EnvdCall& call, Rpc& rpc);
  http::Task<Status> update(EnvdCall& call, Rpc& rpc);
  http::Task<Status> stream_input(EnvdCall& call, Rpc& rpc);
  http::Task<Status> send_input(EnvdCall& call, Rpc& rpc);
  http::Task<Status> send_signal(EnvdCall& call, Rpc& rpc);
  http::Task<Status> close_stdin(EnvdCall& call, Rpc& rpc);

  RandomSource& random_;
  ProcessNotes notes_;
};

}  // namespace harena::e2b
