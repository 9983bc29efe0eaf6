#pragma once
// LocalEdge: the Edge contract over this process's own SandboxManager. What blocks runs on the worker pool; what a
// lookup in memory can answer is answered on the event loop.

#include <boost/asio/thread_pool.hpp>

#include "core/contracts/edge.hpp"
#include "core/lifecycle/manager.hpp"

namespace harena {

class LocalEdge final : public Edge {
 public:
  /// Both outlive it. The pool's threads are where backends, the image store and the state store block.
  LocalEdge(SandboxManager& manager, boost::asio::thread_pool& workers) : manager_(manager), workers_(workers) {}

  http::Task<std::vector<BackendListing>> backends() override;
  http::Task<Result<Sandbox>> create(CallContext call, CreateSpec spec) override;
  http::Task<Result<Sandbox>> get(const SandboxId& id) override;
  http::Task<Result<SandboxPage>> list(SandboxFilter filter, std::string cursor, std::int64_t limit) override;
  http::Task<Result<Sandbox>> update(CallContext call, const SandboxId& id, SandboxUpdate update) override;
  http::Task<Result<Sandbox>> pause(CallContext call, const SandboxId& id) override;
  http::Task<Result<Sandbox>> resume(CallContext call, const SandboxId& id) override;
  http::Task<Result<Sandbox>> stop(CallContext call, const SandboxId& id, std::int64_t grace_ms) override;
  http::Task<Result<ForkOutcome>> fork(CallContext call, const SandboxId& id, ForkSpec spec) override;
  http::Task<Result<Snapshot>> snapshot(CallContext call, const SandboxId& id, SnapshotSpec spec) override;
  http::Task<Result<Sandbox>> rollback(CallContext call, const SandboxId& id, const SandboxId& snapshot) override;
  http::Task<Result<Snapshot>> get_snapshot(const SandboxId& id) override;
  http::Task<Result<SnapshotListing>> list_snapshots(SnapshotFilter filter, std::string cursor, std::int64_t limit) override;
  http::Task<Status> delete_snapshot(CallContext call, const SandboxId& id) override;
  http::Task<Result<nlohmann::json>> usage(const SandboxId& id) override;
  http::Task<Result<std::unique_ptr<SandboxUse>>> use(CallContext call, const SandboxId& id) override;

 private:
  SandboxManager& manager_;
  boost::asio::thread_pool& workers_;
};

}  // namespace harena
