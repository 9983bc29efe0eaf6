#pragma once
// Fleet: the edges that this apiserver knows. The id of a sandbox names its edge; a create goes where placement says,
// and to the next candidate when an edge refuses for want of room.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/contracts/edge.hpp"
#include "core/placement/in_flight_overlay.hpp"
#include "core/placement/placement.hpp"
#include "sdk/base/clock.hpp"
#include "sdk/base/random.hpp"

namespace harena {

class Fleet {
 public:
  /// The node table as the watcher has it now; called for every create.
  using NodeTable = std::function<std::vector<NodeView>()>;
  /// live: each call asks the edges in process, so what is in flight is in the table already. reported: rows are as old as
  /// the last poll, and the in-flight overlay adds what they can't show yet.
  enum class TableKind { live, reported };

  Fleet(NodeTable nodes, TableKind kind, Clock& clock, RandomSource& random)
      : nodes_(std::move(nodes)), kind_(kind), clock_(clock), random_(random) {}

  /// During the start only. `edge` outlives the fleet.
  void add(const std::string& edge_code, Edge& edge) { edges_[edge_code] = &edge; }

  /// At most kMaxPlacementCandidates edges are asked. The error is the last edge's, or names what no node has.
  http::Task<Result<Sandbox>> create(CallContext call, CreateSpec spec);
  /// not_found when no edge has that code.
  Result<Edge*> edge_of(const SandboxId& id) const;
  /// Over all edges, by id.
  http::Task<Result<SandboxPage>> list(SandboxFilter filter, std::string cursor, std::int64_t limit);
  http::Task<Result<SnapshotListing>> list_snapshots(SnapshotFilter filter, std::string cursor, std::int64_t limit);
  /// By its name in exactly this project; nullopt: there is none.
  http::Task<Result<std::optional<Snapshot>>> find_snapshot(ProjectPath project, std::string name);
  /// What each backend is on the edges that have it; the first edge's word where they agree on the name.
  http::Task<std::vector<BackendListing>> backends();
  std::vector<NodeView> nodes() const { return nodes_(); }
  /// The watcher asked `node` for its report at `taken_at_ns`.
  void on_report(const std::string& node, std::int64_t taken_at_ns) { in_flight_.on_report(node, taken_at_ns); }

 private:
  http::Task<Result<Sandbox>> create_on(const std::string& node, CallContext call, CreateSpec spec);

  NodeTable nodes_;
  TableKind kind_;
  Clock& clock_;
  RandomSource& random_;
  std::map<std::string, Edge*> edges_;
  InFlightOverlay in_flight_;
};

}  // namespace harena
