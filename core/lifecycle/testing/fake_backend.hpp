#pragma once
// FakeBackend: a Backend in memory for the core's own tests, with scripted failures. Its "machine" outlives managers, as
// a real backend's sandboxes outlive harenad.

#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "core/contracts/backend.hpp"

namespace harena {

class FakeBackend final : public Backend {
 public:
  explicit FakeBackend(std::string name = "fake") {
    description_.name = std::move(name);
    description_.params_schema = nlohmann::json::object();
    description_.verbs = {"pause", "resume", "fork", "snapshot", "restore", "rollback", "resize"};
    description_.kept = {{"fork", "filesystem"}};
    description_.needs_image = false;
  }

  /// Called at the start of each verb ("create", "stop", ...), outside of any lock; an error is the verb's answer.
  std::function<Status(const std::string& verb, const SandboxId& id)> script;

  const BackendDescription& describe() const override { return description_; }
  BackendDescription& description() { return description_; }
  Result<BackendProbe> probe(const CallContext&) override { return BackendProbe{.usable = true}; }

  Result<BackendCreated> create(const CallContext&, const BackendCreateRequest& request) override {
    HARENA_TRY_STATUS(ask("create", request.sandbox_id));
    set(request.sandbox_id, BackendRecovered::Status::running);
    return BackendCreated{.state = "blob-" + request.sandbox_id.str(), .session_endpoint = request.run_dir + "/session", .details = details};
  }
  Result<BackendRecovered> recover(const CallContext&, const SandboxId& id, const std::string& state) override {
    HARENA_TRY_STATUS(ask("recover", id));
    std::lock_guard lock(mutex_);
    const auto it = machine_.find(id);
    if (it == machine_.end() || state != "blob-" + id.str()) return BackendRecovered{.cause = "infrastructure"};
    return BackendRecovered{.status = it->second, .session_endpoint = "again"};
  }
  Status stop(const CallContext&, const SandboxId& id, std::int64_t) override {
    HARENA_TRY_STATUS(ask("stop", id));
    std::lock_guard lock(mutex_);
    machine_.erase(id);
    return ok_status();
  }
  Result<std::vector<std::string>> sweep(const CallContext&, const std::vector<SandboxId>& known) override {
    std::lock_guard lock(mutex_);
    const std::set<SandboxId> keep(known.begin(), known.end());
    std::vector<std::string> removed;
    for (const auto& [id, status] : machine_) {
      if (!keep.contains(id)) removed.push_back(id.str());
    }
    std::erase_if(machine_, [&](const auto& entry) { return !keep.contains(entry.first); });
    return removed;
  }
  Result<nlohmann::json> usage(const CallContext&, const SandboxId&) override { return nlohmann::json::object(); }
  Result<nlohmann::json> pause(const CallContext&, const SandboxId& id) override {
    HARENA_TRY_STATUS(ask("pause", id));
    set(id, BackendRecovered::Status::paused);
    return nlohmann::json::object();
  }
  Result<nlohmann::json> resume(const CallContext&, const SandboxId& id) override {
    HARENA_TRY_STATUS(ask("resume", id));
    set(id, BackendRecovered::Status::running);
    return nlohmann::json{{"kept", "memory"}};
  }
  /// params of the last one that came through are in `resized`.
  Result<BackendCreated> resize(const CallContext&, const SandboxId& id, const BackendResizeRequest& request) override {
    HARENA_TRY_STATUS(ask("resize", id));
    resized = request.params;
    return BackendCreated{.details = {{"resized", true}}};
  }
  nlohmann::json resized;

  nlohmann::json details = nlohmann::json::object();  ///< of creates from now on

  /// A child whose "child" script fails is that error.
  Result<std::vector<Result<BackendCreated>>> fork(const CallContext& call, const SandboxId& id,
                                                   const std::vector<BackendCreateRequest>& requests) override {
    HARENA_TRY_STATUS(ask("fork", id));
    std::vector<Result<BackendCreated>> children;
    for (const auto& request : requests) {
      const Status wanted = ask("child", request.sandbox_id);
      children.push_back(wanted.ok() ? create(call, request) : Result<BackendCreated>(wanted.error()));
    }
    return children;
  }
  Result<BackendSnapshot> snapshot(const CallContext&, const SandboxId& id, const SandboxId& snapshot_id, const std::string& dir) override {
    HARENA_TRY_STATUS(ask("snapshot", id));
    if (!std::filesystem::is_empty(dir)) return make_error(ErrorCode::internal, dir + " isn't empty");
    return BackendSnapshot{"snapshot-" + snapshot_id.str(), "filesystem", {{"how", "frozen"}}};
  }
  Result<BackendCreated> restore(const CallContext& call, const BackendCreateRequest& request, const std::string& state) override {
    HARENA_TRY_STATUS(ask("restore", request.sandbox_id));
    restored.push_back(state);
    return create(call, request);
  }
  Status rollback(const CallContext&, const SandboxId& id, const std::string& state) override {
    HARENA_TRY_STATUS(ask("rollback", id));
    restored.push_back(state);
    return ok_status();
  }
  /// The states that restore and rollback were called with.
  std::vector<std::string> restored;

  std::size_t alive() const {
    std::lock_guard lock(mutex_);
    return machine_.size();
  }
  void vanish(const SandboxId& id) {
    std::lock_guard lock(mutex_);
    machine_.erase(id);
  }

 private:
  Status ask(const std::string& verb, const SandboxId& id) { return script ? script(verb, id) : ok_status(); }
  void set(const SandboxId& id, BackendRecovered::Status status) {
    std::lock_guard lock(mutex_);
    machine_[id] = status;
  }

  BackendDescription description_;
  mutable std::mutex mutex_;
  std::map<SandboxId, BackendRecovered::Status> machine_;
};

}  // namespace harena
