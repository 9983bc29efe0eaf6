#pragma once
// SessionGate: what uses a sandbox from inside, through the one gate of the API: commands, files and ports. It authorises,
// takes a use of the sandbox (which resumes a paused one and keeps it from being idle), and hands over to
// core/api/session and core/api/ports.

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/api/endpoint.hpp"
#include "core/api/services.hpp"
#include "core/api/session/session_routes.hpp"

namespace harena {

/// Session endpoints of sandboxes, kept for their idle connections. Thread-safe.
class SessionEndpoints {
 public:
  /// Sandboxes whose connections are kept; the one that was opened first goes first.
  static constexpr std::size_t kMaxKept = 4'096;
  std::shared_ptr<session::Endpoint> get(const SandboxId& id, const std::string& path);
  /// The sandbox has ended: its connections are dropped.
  void forget(const SandboxId& id);

 private:
  struct Kept {
    std::string path;
    std::shared_ptr<session::Endpoint> endpoint;
    std::uint64_t since = 0;
  };
  std::mutex mutex_;
  std::map<SandboxId, Kept> kept_;
  std::map<std::uint64_t, SandboxId> by_age_;
  std::uint64_t opened_ = 0;
};

class SessionGate {
 public:
  explicit SessionGate(ApiServices& services) : services_(services) {}
  void add_to(ApiRouter& router);

  /// A client for the sandbox of the call and the use that keeps it awake; what is wrong with it otherwise.
  http::Task<Result<SessionLink>> open(ApiCall& call, SessionAccess access);

 private:
  http::Task<Result<Reply>> forward(ApiCall& call);

  ApiServices& services_;
  SessionEndpoints endpoints_;
};

}  // namespace harena
