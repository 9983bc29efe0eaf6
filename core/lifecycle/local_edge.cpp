#include "core/lifecycle/local_edge.hpp"

namespace harena {

using http::blocking;
using http::Task;

Task<std::vector<BackendListing>> LocalEdge::backends() {
  co_return co_await blocking(workers_, [this] {
    std::vector<BackendListing> list;
    for (const auto& [name, entry] : manager_.backends().all()) {
      BackendListing listing;
      listing.description = entry.backend->describe();
      listing.plugin_id = entry.plugin_id;
      listing.plugin_version = entry.plugin_version;
      if (auto probe = entry.backend->probe({}); probe.ok()) {
        listing.probe = *std::move(probe);
      } else {
        listing.probe.why_not.push_back(probe.error().describe());
      }
      list.push_back(std::move(listing));
    }
    return list;
  });
}

Task<Result<Sandbox>> LocalEdge::create(CallContext call, CreateSpec spec) {
  co_return co_await blocking(workers_, [&] { return manager_.create(call, spec); });
}

Task<Result<Sandbox>> LocalEdge::get(const SandboxId& id) {
  if (auto living = manager_.find(id)) co_return *std::move(living);
  co_return co_await blocking(workers_, [&] { return manager_.get({}, id); });
}

Task<Result<SandboxPage>> LocalEdge::list(SandboxFilter filter, std::string cursor, std::int64_t limit) {
  co_return co_await blocking(workers_, [&] { return manager_.list({}, filter, cursor, limit); });
}

Task<Result<Sandbox>> LocalEdge::update(CallContext call, const SandboxId& id, SandboxUpdate update) {
  co_return co_await blocking(workers_, [&] { return manager_.update(call, id, update); });
}

Task<Result<Sandbox>> LocalEdge::pause(CallContext call, const SandboxId& id) {
  co_return co_await blocking(workers_, [&] { return manager_.pause(call, id); });
}

Task<Result<Sandbox>> LocalEdge::resume(CallContext call, const SandboxId& id) {
  co_return co_await blocking(workers_, [&] { return manager_.resume(call, id); });
}

Task<Result<Sandbox>> LocalEdge::stop(CallContext call, const SandboxId& id, std::int64_t grace_ms) {
  co_return co_await blocking(workers_, [&] { return manager_.stop(call, id, grace_ms); });
}

Task<Result<ForkOutcome>> LocalEdge::fork(CallContext call, const SandboxId& id, ForkSpec spec) {
  co_return co_await blocking(workers_, [&] { return manager_.fork(call, id, spec); });
}

Task<Result<Snapshot>> LocalEdge::snapshot(CallContext call, const SandboxId& id, SnapshotSpec spec) {
  co_return co_await blocking(workers_, [&] { return manager_.snapshot(call, id, spec); });
}

Task<Result<Sandbox>> LocalEdge::rollback(CallContext call, const SandboxId& id, const SandboxId& snapshot) {
  co_return co_await blocking(workers_, [&] { return manager_.rollback(call, id, snapshot); });
}

Task<Result<Snapshot>> LocalEdge::get_snapshot(const SandboxId& id) {
  co_return co_await blocking(workers_, [&] { return manager_.get_snapshot({}, id); });
}

Task<Result<SnapshotListing>> LocalEdge::list_snapshots(SnapshotFilter filter, std::string cursor, std::int64_t limit) {
  co_return co_await blocking(workers_, [&] { return manager_.list_snapshots({}, filter, cursor, limit); });
}

Task<Status> LocalEdge::delete_snapshot(CallContext call, const SandboxId& id) {
  co_return co_await blocking(workers_, [&] { return manager_.delete_snapshot(call, id); });
}

Task<Result<nlohmann::json>> LocalEdge::usage(const SandboxId& id) {
  co_return co_await blocking(workers_, [&] { return manager_.usage({}, id); });
}

Task<Result<std::unique_ptr<SandboxUse>>> LocalEdge::use(CallContext call, const SandboxId& id) {
  if (auto fast = manager_.fast_use(id)) co_return fast;
  co_return co_await blocking(workers_, [&] { return manager_.use(call, id); });
}

}  // namespace harena
