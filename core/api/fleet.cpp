#include "core/api/fleet.hpp"

#include <algorithm>

#include "sdk/base/text.hpp"

namespace harena {

using http::Task;

namespace {

NodeAmount demand_of(const CreateSpec& spec) {
  const Resources asked = resources_of(spec.params);
  return {.sandboxes = 1, .cpu_milli = asked.cpu_milli, .memory_bytes = asked.memory_bytes};
}

/// not_found for a backend that no node knows, with the nearest name; ok otherwise, usable or not.
Status check_known(const std::vector<NodeView>& nodes, const std::string& backend) {
  std::set<std::string> names;
  for (const auto& node : nodes) {
    names.insert(node.backends.begin(), node.backends.end());
    for (const auto& [name, why] : node.unusable_backends) names.insert(name);
  }
  if (names.contains(backend)) return ok_status();
  const std::vector<std::string> known(names.begin(), names.end());
  return make_error(ErrorCode::not_found, "no backend '" + backend.substr(0, 80) + "'" + suggestion(backend, known));
}

bool another_may_do(const Error& error) { return error.retry == Retry::other_node; }

}  // namespace

Task<Result<Sandbox>> Fleet::create_on(const std::string& node, CallContext call, CreateSpec spec) {
  const auto edge = edges_.find(node);
  if (edge == edges_.end()) {
    co_return infrastructure_error(ErrorCode::unavailable, "edge", "edge " + node + " is known but not connected");
  }
  auto ticket = kind_ == TableKind::live ? InFlightOverlay::Ticket() : in_flight_.begin(node, demand_of(spec));
  auto created = co_await edge->second->create(std::move(call), std::move(spec));
  if (created.ok() && kind_ == TableKind::reported) ticket.made(clock_.monotonic_ns());
  co_return created;
}

Task<Result<Sandbox>> Fleet::create(CallContext call, CreateSpec spec) {
  const auto nodes = nodes_();
  HARENA_CO_TRY_STATUS(check_known(nodes, spec.backend));
  if (!spec.snapshot.empty()) {
    // Where the snapshot is, and nowhere else.
    HARENA_CO_TRY(const auto id, SandboxId::parse(spec.snapshot));
    co_return co_await create_on(std::string(id.edge_code()), std::move(call), std::move(spec));
  }
  const auto in_flight = kind_ == TableKind::live ? InFlight() : in_flight_.snapshot();
  const PlacementRequest request{.backend = spec.backend, .demand = demand_of(spec)};
  const PlacementInput input{nodes, in_flight, request};
  const auto placement = place(input, random_);
  std::optional<Error> last;
  for (const auto index : placement.candidates) {
    auto created = co_await create_on(nodes[index].name, call, spec);
    if (created.ok() || !another_may_do(created.error())) co_return created;
    last = std::move(created).error();
  }
  co_return last ? *std::move(last) : no_candidate_error(placement, input);
}

Result<Edge*> Fleet::edge_of(const SandboxId& id) const {
  if (const auto it = edges_.find(std::string(id.edge_code())); it != edges_.end()) return it->second;
  return make_error(ErrorCode::not_found, "no sandbox " + id.str() + ": no edge has the code " +
                                              std::string(id.edge_code()));
}

Task<Result<SandboxPage>> Fleet::list(SandboxFilter filter, std::string cursor, std::int64_t limit) {
  // Edges are asked in the order of their codes, which is the order of the ids, so a cursor names its edge.
  SandboxPage page;
  for (const auto& [code, edge] : edges_) {
    if (!cursor.empty() && code < cursor.substr(0, kEdgeCodeLength)) continue;
    const auto room = limit - static_cast<std::int64_t>(page.sandboxes.size());
    HARENA_CO_TRY(auto part, co_await edge->list(filter, cursor, room));
    std::move(part.sandboxes.begin(), part.sandboxes.end(), std::back_inserter(page.sandboxes));
    page.next_cursor = part.next_cursor;
    if (page.next_cursor.empty() && static_cast<std::int64_t>(page.sandboxes.size()) == limit &&
        code != edges_.rbegin()->first) {
      page.next_cursor = page.sandboxes.back().id.str();
    }
    if (!page.next_cursor.empty()) break;
    cursor.clear();
  }
  co_return page;
}

Task<Result<SnapshotListing>> Fleet::list_snapshots(SnapshotFilter filter, std::string cursor, std::int64_t limit) {
  // In the order of list().
  SnapshotListing page;
  for (const auto& [code, edge] : edges_) {
    if (!cursor.empty() && code < cursor.substr(0, kEdgeCodeLength)) continue;
    const auto room = limit - static_cast<std::int64_t>(page.snapshots.size());
    HARENA_CO_TRY(auto part, co_await edge->list_snapshots(filter, cursor, room));
    std::move(part.snapshots.begin(), part.snapshots.end(), std::back_inserter(page.snapshots));
    page.next_cursor = part.next_cursor;
    const bool full = static_cast<std::int64_t>(page.snapshots.size()) == limit;
    if (page.next_cursor.empty() && full && code != edges_.rbegin()->first) page.next_cursor = page.snapshots.back().id.str();
    if (!page.next_cursor.empty()) break;
    cursor.clear();
  }
  co_return page;
}

Task<Result<std::optional<Snapshot>>> Fleet::find_snapshot(ProjectPath project, std::string name) {
  SnapshotFilter filter{.project = project, .name = std::move(name)};
  std::string cursor;
  do {
    HARENA_CO_TRY(auto page, co_await list_snapshots(filter, cursor, 1'000));
    for (auto& snapshot : page.snapshots) {
      if (snapshot.spec.project == project) co_return std::optional<Snapshot>(std::move(snapshot));
    }
    cursor = page.next_cursor;
  } while (!cursor.empty());
  co_return std::optional<Snapshot>();
}

Task<std::vector<BackendListing>> Fleet::backends() {
  std::map<std::string, BackendListing> by_name;
  for (const auto& [code, edge] : edges_) {
    for (auto& listing : co_await edge->backends()) {
      const auto name = listing.description.name;
      const auto it = by_name.find(name);
      if (it == by_name.end() || (!it->second.probe.usable && listing.probe.usable)) {
        by_name.insert_or_assign(name, std::move(listing));
      }
    }
  }
  std::vector<BackendListing> list;
  for (auto& [name, listing] : by_name) list.push_back(std::move(listing));
  co_return list;
}

}  // namespace harena
