#pragma once
// Edge: the sandboxes of one machine, as the apiserver sees them. On one machine the apiserver holds the edge itself;
// in a cluster it holds a network client; both are this interface, so there is no second code path.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/contracts/backend.hpp"
#include "core/contracts/call.hpp"
#include "core/model/sandbox.hpp"
#include "sdk/http/task.hpp"

namespace harena {

struct BackendListing {
  BackendDescription description;
  BackendProbe probe;
  std::string plugin_id;
  std::string plugin_version;
};

struct SandboxPage {
  std::vector<Sandbox> sandboxes;  ///< by id
  std::string next_cursor;         ///< empty: the end
};

/// Changes that a caller may make to a living sandbox. Absent members stay.
struct SandboxUpdate {
  std::optional<Labels> labels;
  std::optional<std::int64_t> idle_ttl_s;
  std::optional<std::int64_t> lifetime_s;  ///< from now on; 0: no absolute end
  /// As lifetime_s (but not 0), if its end isn't later than that already.
  std::optional<std::int64_t> lifetime_at_least_s;
  std::optional<IdleAction> lifetime_action;  ///< pause: lifetime_restarts is set with it
  std::optional<bool> resume_on_use;
  std::optional<Labels> annotations;
};

/// Held for as long as an operation uses a sandbox: while one exists the sandbox isn't idle. Destroying it restarts
/// the idle clock.
class SandboxUse {
 public:
  virtual ~SandboxUse() = default;
  virtual const Sandbox& sandbox() const = 0;
  /// The Unix socket of the session endpoint (harena.session/1).
  virtual const std::string& endpoint() const = 0;
};

/// All methods are coroutines that never block the event loop; safe to call from any thread.
class Edge {
 public:
  virtual ~Edge() = default;
  virtual http::Task<std::vector<BackendListing>> backends() = 0;
  /// Admission, image, backend; on failure everything is undone. With an idempotency key: the sandbox that the key
  /// made, whatever its state; already_exists when the key came with another request.
  virtual http::Task<Result<Sandbox>> create(CallContext call, CreateSpec spec) = 0;
  virtual http::Task<Result<Sandbox>> get(const SandboxId& id) = 0;
  virtual http::Task<Result<SandboxPage>> list(SandboxFilter filter, std::string cursor, std::int64_t limit) = 0;
  virtual http::Task<Result<Sandbox>> update(CallContext call, const SandboxId& id, SandboxUpdate update) = 0;
  virtual http::Task<Result<Sandbox>> pause(CallContext call, const SandboxId& id) = 0;
  virtual http::Task<Result<Sandbox>> resume(CallContext call, const SandboxId& id) = 0;
  /// Idempotent. Returns the record in its terminal state.
  virtual http::Task<Result<Sandbox>> stop(CallContext call, const SandboxId& id, std::int64_t grace_ms) = 0;
  virtual http::Task<Result<nlohmann::json>> usage(const SandboxId& id) = 0;
  /// Resumes a paused sandbox first, transparently.
  virtual http::Task<Result<std::unique_ptr<SandboxUse>>> use(CallContext call, const SandboxId& id) = 0;
};

}  // namespace harena
