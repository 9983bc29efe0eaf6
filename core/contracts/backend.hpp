#pragma once
// Backend: what the core must be able to do to any sandbox; the C++ face of harena.backend/1 (sdk/abi/backend.h says
// what each verb promises; the adapter is in core/pluginhost).

#include <set>
#include <string>
#include <vector>

#include "core/contracts/call.hpp"
#include "core/model/state.hpp"
#include "sdk/base/ids.hpp"
#include "sdk/base/result.hpp"

namespace harena {

struct BackendDescription {
  std::string name;
  nlohmann::json params_schema;
  std::set<std::string> verbs;  ///< the optional ones it has: pause, resume, snapshot, restore, fork, rollback, resize
  nlohmann::json kept = nlohmann::json::object();  ///< verb -> "memory" | "filesystem"
  bool session = true;          ///< create returns a session endpoint
  bool needs_image = true;
};

struct BackendProbe {
  bool usable = false;
  std::vector<std::string> why_not;
  nlohmann::json facts = nlohmann::json::object();
};

/// unimplemented: "the backend 'container' has no verb 'fork'; of the optional ones it has pause, resume".
inline Error absent_verb(const BackendDescription& description, const std::string& verb) {
  std::string have;
  for (const auto& one : description.verbs) have += (have.empty() ? "" : ", ") + one;
  return make_error(ErrorCode::unimplemented, "the backend '" + description.name + "' has no verb '" + verb +
                                                  "'; of the optional ones it has " + (have.empty() ? "none" : have));
}

/// A layer as the backend mounts it.
struct LayerFile {
  std::string digest;
  std::string path;
  std::string format = "erofs";
};

struct BackendCreateRequest {
  SandboxId sandbox_id;
  std::string run_dir;
  std::string state_dir;
  nlohmann::json params = nlohmann::json::object();
  std::vector<LayerFile> layers;  ///< lowest first
  nlohmann::json image_config = nlohmann::json::object();
  nlohmann::json labels = nlohmann::json::object();
};

struct BackendCreated {
  std::string state;  ///< opaque, given back to recover
  std::string session_endpoint;
  nlohmann::json details = nlohmann::json::object();
};

struct BackendSnapshot {
  std::string state;  ///< opaque, given back to restore and rollback
  std::string kept;   ///< "memory" | "filesystem"
  nlohmann::json details = nlohmann::json::object();  ///< what else the backend tells: how it was taken, bytes
};

/// Both whole: those that hold, and those that are to.
struct BackendResizeRequest {
  nlohmann::json before = nlohmann::json::object();
  nlohmann::json params = nlohmann::json::object();
  nlohmann::json details = nlohmann::json::object();  ///< the sandbox's, as create and earlier changes gave them
};

struct BackendRecovered {
  enum class Status { running, paused, gone } status = Status::gone;
  std::string session_endpoint;
  std::string cause;   ///< of gone: none | agent | limit | infrastructure
  std::string detail;
};

/// Thread-safe, blocking: called from worker threads. At most one call at a time for a sandbox (the caller holds its
/// lock), except usage, describe and probe.
class Backend {
 public:
  virtual ~Backend() = default;
  /// Constant; read once at load.
  virtual const BackendDescription& describe() const = 0;
  virtual Result<BackendProbe> probe(const CallContext& call) = 0;
  virtual Result<BackendCreated> create(const CallContext& call, const BackendCreateRequest& request) = 0;
  virtual Result<BackendRecovered> recover(const CallContext& call, const SandboxId& id, const std::string& state) = 0;
  /// Idempotent, also for unknown and half-made ids. Nothing of the sandbox runs when it returns; what else is left of it may go a
  /// little later, and a second call returns when it has.
  virtual Status stop(const CallContext& call, const SandboxId& id, std::int64_t grace_ms) = 0;
  /// Returns the ids it removed.
  virtual Result<std::vector<std::string>> sweep(const CallContext& call, const std::vector<SandboxId>& known) = 0;
  virtual Result<nlohmann::json> usage(const CallContext& call, const SandboxId& id) = 0;

  // Optional verbs: unimplemented, naming backend and verb, when describe().verbs lacks them.
  virtual Result<nlohmann::json> pause(const CallContext& call, const SandboxId& id) = 0;
  virtual Result<nlohmann::json> resume(const CallContext& call, const SandboxId& id) = 0;
  /// Children in the order of the requests, each made or with an error of its own.
  virtual Result<std::vector<Result<BackendCreated>>> fork(const CallContext&, const SandboxId& /*id*/,
                                                           const std::vector<BackendCreateRequest>& /*requests*/) {
    return absent_verb(describe(), "fork");
  }
  /// `dir` exists, empty, and is the snapshot's own. To delete a snapshot: remove `dir`, then stop(snapshot_id).
  virtual Result<BackendSnapshot> snapshot(const CallContext&, const SandboxId& /*id*/, const SandboxId& /*snapshot_id*/,
                                           const std::string& /*dir*/) {
    return absent_verb(describe(), "snapshot");
  }
  virtual Result<BackendCreated> restore(const CallContext&, const BackendCreateRequest& /*request*/,
                                         const std::string& /*snapshot_state*/) {
    return absent_verb(describe(), "restore");
  }
  /// The commands that run in the sandbox are ended. Idempotent.
  virtual Status rollback(const CallContext&, const SandboxId& /*id*/, const std::string& /*snapshot_state*/) {
    return absent_verb(describe(), "rollback");
  }
  /// Other parameters for a living sandbox (harena.backend.container/1): all or nothing, idempotent. Returns its state (empty: as
  /// before) and its details from now on.
  virtual Result<BackendCreated> resize(const CallContext&, const SandboxId& /*id*/, const BackendResizeRequest& /*request*/) {
    return absent_verb(describe(), "resize");
  }
};

/// What a backend tells unasked.
struct BackendEvent {
  std::string backend;
  nlohmann::json document;  ///< {"type":"sandbox_exited","sandbox_id":...,"cause":...,"detail":...}
};

}  // namespace harena
