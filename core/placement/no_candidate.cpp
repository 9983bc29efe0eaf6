#include <algorithm>
#include <array>

#include "core/placement/placement.hpp"

namespace harena {
namespace {

constexpr std::size_t kReasons = 7;

struct Tally {
  std::size_t count = 0;
  std::size_t example = 0;  ///< the first node with this reason
};

std::string missing_label(const NodeView& node, const PlacementRequest& request) {
  for (const auto& [key, value] : request.labels) {
    const auto it = node.labels.find(key);
    if (it == node.labels.end()) return "has no label " + key;
    if (it->second != value) return "has " + key + "=" + it->second;
  }
  return "";
}

std::string room(std::int64_t capacity, std::int64_t used, std::int64_t in_flight) {
  return "promises " + std::to_string(used + in_flight) + " of " + std::to_string(capacity);
}

std::string backend_detail(const NodeView& node, const std::string& backend) {
  const auto it = node.unusable_backends.find(backend);
  return it == node.unusable_backends.end() ? "doesn't have it" : it->second;
}

std::string detail(const NodeView& node, RefusalReason reason, const PlacementInput& input) {
  const auto found = input.in_flight.find(node.name);
  const NodeAmount flying = found == input.in_flight.end() ? NodeAmount{} : found->second;
  switch (reason) {
    case RefusalReason::excluded: return "was asked";
    case RefusalReason::unhealthy: return node.why_unhealthy;
    case RefusalReason::backend: return backend_detail(node, input.request.backend);
    case RefusalReason::label: return missing_label(node, input.request);
    case RefusalReason::sandboxes: return room(node.capacity.sandboxes, node.used.sandboxes, flying.sandboxes);
    case RefusalReason::cpu: return room(node.capacity.cpu_milli, node.used.cpu_milli, flying.cpu_milli);
    case RefusalReason::memory: return room(node.capacity.memory_bytes, node.used.memory_bytes, flying.memory_bytes);
  }
  return "";
}

std::string what(RefusalReason reason, const PlacementRequest& request) {
  switch (reason) {
    case RefusalReason::excluded: return "refused already";
    case RefusalReason::unhealthy: return "not healthy";
    case RefusalReason::backend: return "without a usable backend '" + request.backend + "'";
    case RefusalReason::label: return "without the labels";
    case RefusalReason::sandboxes: return "without room for another sandbox";
    case RefusalReason::cpu: return "without room for " + std::to_string(request.demand.cpu_milli) + " thousandths of a CPU";
    case RefusalReason::memory: return "without room for " + std::to_string(request.demand.memory_bytes) + " bytes of memory";
  }
  return "";
}

bool is_room(RefusalReason reason) {
  return reason == RefusalReason::sandboxes || reason == RefusalReason::cpu || reason == RefusalReason::memory;
}

/// Whether it would fit the node if that were empty.
bool large_enough(const NodeView& node, const NodeAmount& demand) {
  return demand.sandboxes <= node.capacity.sandboxes && demand.cpu_milli <= node.capacity.cpu_milli &&
         demand.memory_bytes <= node.capacity.memory_bytes;
}

/// Waiting may bring room or a node back; it brings no backend, no hardware and no larger node.
Error graded(const Placement& placement, const PlacementInput& input, const std::array<Tally, kReasons>& tallies,
             std::string message) {
  const auto count = [&](RefusalReason reason) { return tallies[static_cast<std::size_t>(reason)].count; };
  const bool full = std::ranges::any_of(placement.refusals, [&](const auto& refusal) {
    return is_room(refusal.reason) && large_enough(input.nodes[refusal.node], input.request.demand);
  });
  if (full) {
    Error error = infrastructure_error(ErrorCode::resource_exhausted, "placement", std::move(message));
    error.retry = Retry::same_node;
    return error;
  }
  if (count(RefusalReason::unhealthy) + count(RefusalReason::excluded) > 0) {
    return infrastructure_error(ErrorCode::unavailable, "placement", std::move(message));
  }
  return make_error(ErrorCode::failed_precondition, std::move(message));
}

}  // namespace

Error no_candidate_error(const Placement& placement, const PlacementInput& input) {
  if (input.nodes.empty()) {
    return infrastructure_error(ErrorCode::unavailable, "placement", "no node can take it: no node is known yet");
  }
  std::array<Tally, kReasons> tallies{};
  for (const auto& refusal : placement.refusals) {
    auto& tally = tallies[static_cast<std::size_t>(refusal.reason)];
    if (tally.count++ == 0) tally.example = refusal.node;
  }
  std::string message;
  for (std::size_t i = 0; i < kReasons; ++i) {
    if (tallies[i].count == 0) continue;
    const auto reason = static_cast<RefusalReason>(i);
    const auto& node = input.nodes[tallies[i].example];
    message += (message.empty() ? "" : ", ") + std::to_string(tallies[i].count) + " " + what(reason, input.request) +
               " (" + node.name + " " + detail(node, reason, input) + ")";
  }
  return graded(placement, input, tallies, "no node can take it: of " + std::to_string(input.nodes.size()) + ", " + message);
}

}  // namespace harena
