#pragma once
// Placement: which nodes to ask for a sandbox, in which order. A pure function of the node table, what is in flight,
// the request and a source of randomness; the edge itself decides at admission (architecture.md, "The edge decides").
//
//   const auto in_flight = overlay.snapshot();
//   const PlacementInput input{nodes, in_flight, request};
//   auto placement = place(input, random);
//   if (placement.candidates.empty()) return no_candidate_error(placement, input);
//   for (auto index : placement.candidates) ...nodes[index]...

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "sdk/base/random.hpp"
#include "sdk/base/result.hpp"

namespace harena {

/// k of "best of k random" (Mitzenmacher: two choices bring nearly all of the balance).
inline constexpr std::size_t kPlacementChoices = 2;
/// How many nodes are asked at most (architecture.md).
inline constexpr std::size_t kMaxPlacementCandidates = 3;

/// Sandboxes, thousandths of a CPU and bytes of memory: room, use or demand.
struct NodeAmount {
  std::int64_t sandboxes = 0;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  NodeAmount& operator+=(const NodeAmount& other);
  NodeAmount& operator-=(const NodeAmount& other);
  bool operator==(const NodeAmount&) const = default;
};

/// A row of the node table: what a node last reported.
struct NodeView {
  std::string name;
  bool healthy = false;
  std::string why_unhealthy;
  NodeAmount capacity;  ///< what may be promised, overcommit included
  NodeAmount used;      ///< what is promised
  std::set<std::string> backends;                        ///< usable there
  std::map<std::string, std::string> unusable_backends;  ///< name -> why
  std::map<std::string, std::string> labels;             ///< hardware among them ("gpu" -> "a100")
};

struct PlacementRequest {
  std::string backend;
  NodeAmount demand{.sandboxes = 1};
  std::map<std::string, std::string> labels;  ///< all must be on the node
  std::set<std::string> excluded;             ///< nodes that refused already
};

enum class RefusalReason { excluded, unhealthy, backend, label, sandboxes, cpu, memory };
std::string_view to_string(RefusalReason reason);

struct Refusal {
  std::size_t node = 0;  ///< index into the table
  RefusalReason reason = RefusalReason::unhealthy;
};

struct Placement {
  std::vector<std::size_t> candidates;  ///< indexes into the table, best first, at most kMaxPlacementCandidates
  /// Of the nodes that were looked at; of all when there is no candidate.
  std::vector<Refusal> refusals;
};

/// node name -> what was sent there and isn't in its report yet.
using InFlight = std::unordered_map<std::string, NodeAmount>;

struct PlacementInput {
  std::span<const NodeView> nodes;
  const InFlight& in_flight;
  const PlacementRequest& request;
};

/// The share of its scarcest resource that would be promised with the request on it; above 1: no room. A resource of
/// which the node has none and the request wants none doesn't count. A node that reports no capacity for what is asked
/// has no room.
double load_with(const NodeView& node, const NodeAmount& in_flight, const NodeAmount& demand);

/// Looks at nodes in random order until it has enough: O(k) where most nodes fit, O(nodes) where few do.
Placement place(const PlacementInput& input, RandomSource& random);

/// Says how many nodes lack what, with one example each: "no node can take it: of 3, 2 without a usable backend
/// 'microvm' (n1 no /dev/kvm), ...". resource_exhausted when some lack only room (repeat later), unavailable when some
/// are not healthy or refused, else failed_precondition: no node has the backend or the labels.
Error no_candidate_error(const Placement& placement, const PlacementInput& input);

}  // namespace harena
