#include "core/placement/placement.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>

namespace harena {

NodeAmount& NodeAmount::operator+=(const NodeAmount& other) {
  sandboxes += other.sandboxes;
  cpu_milli += other.cpu_milli;
  memory_bytes += other.memory_bytes;
  return *this;
}

NodeAmount& NodeAmount::operator-=(const NodeAmount& other) {
  sandboxes -= other.sandboxes;
  cpu_milli -= other.cpu_milli;
  memory_bytes -= other.memory_bytes;
  return *this;
}

std::string_view to_string(RefusalReason reason) {
  constexpr std::array<std::string_view, 7> kNames = {"excluded",  "unhealthy", "backend", "label",
                                                      "sandboxes", "cpu",       "memory"};
  return kNames[static_cast<std::size_t>(reason)];
}

namespace {

const NodeAmount kNone{};

const NodeAmount& in_flight_of(const InFlight& in_flight, const std::string& node) {
  const auto it = in_flight.find(node);
  return it == in_flight.end() ? kNone : it->second;
}

/// In doubles: three amounts of 2^62 must not overflow.
double share(std::int64_t capacity, std::int64_t used, std::int64_t in_flight, std::int64_t demand) {
  const double promised = static_cast<double>(used) + static_cast<double>(in_flight) + static_cast<double>(demand);
  if (capacity > 0) return promised / static_cast<double>(capacity);
  return demand > 0 ? std::numeric_limits<double>::infinity() : 0.0;
}

struct Dimension {
  RefusalReason reason;
  std::int64_t NodeAmount::*amount;
};
constexpr std::array<Dimension, 3> kDimensions = {{{RefusalReason::sandboxes, &NodeAmount::sandboxes},
                                                   {RefusalReason::cpu, &NodeAmount::cpu_milli},
                                                   {RefusalReason::memory, &NodeAmount::memory_bytes}}};

double share_of(const Dimension& d, const NodeView& node, const NodeAmount& in_flight, const NodeAmount& demand) {
  return share(node.capacity.*d.amount, node.used.*d.amount, in_flight.*d.amount, demand.*d.amount);
}

bool has_labels(const NodeView& node, const std::map<std::string, std::string>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& label) {
    const auto it = node.labels.find(label.first);
    return it != node.labels.end() && it->second == label.second;
  });
}

/// A resource of which the request wants nothing can't be what is lacking, even where it is overdrawn.
std::optional<RefusalReason> lacks_room(const NodeView& node, const NodeAmount& in_flight, const NodeAmount& demand) {
  for (const auto& d : kDimensions) {
    if (demand.*d.amount > 0 && share_of(d, node, in_flight, demand) > 1.0) return d.reason;
  }
  return std::nullopt;
}

std::optional<RefusalReason> why_not(const PlacementInput& input, const NodeView& node) {
  const auto& request = input.request;
  if (request.excluded.contains(node.name)) return RefusalReason::excluded;
  if (!node.healthy) return RefusalReason::unhealthy;
  if (!node.backends.contains(request.backend)) return RefusalReason::backend;
  if (!has_labels(node, request.labels)) return RefusalReason::label;
  return lacks_room(node, in_flight_of(input.in_flight, node.name), request.demand);
}

/// Yields the nodes that fit, in random order, each once; keeps why the others don't.
class RandomFits {
 public:
  RandomFits(const PlacementInput& input, RandomSource& random) : input_(input), random_(random) {
    order_.resize(input.nodes.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
  }

  std::optional<std::size_t> next() {
    while (drawn_ < order_.size()) {
      // One step of Fisher and Yates' shuffle: the rest of the order is not needed.
      std::swap(order_[drawn_], order_[drawn_ + random_.below(order_.size() - drawn_)]);
      const std::size_t node = order_[drawn_++];
      const auto refused = why_not(input_, input_.nodes[node]);
      if (!refused) return node;
      refusals_.push_back({node, *refused});
    }
    return std::nullopt;
  }
  std::vector<Refusal> take_refusals() { return std::move(refusals_); }

 private:
  const PlacementInput& input_;
  RandomSource& random_;
  std::vector<std::size_t> order_;
  std::size_t drawn_ = 0;
  std::vector<Refusal> refusals_;
};

struct Choice {
  std::size_t node;
  double load;
};

}  // namespace

double load_with(const NodeView& node, const NodeAmount& in_flight, const NodeAmount& demand) {
  double load = 0;
  for (const auto& d : kDimensions) load = std::max(load, share_of(d, node, in_flight, demand));
  return load;
}

Placement place(const PlacementInput& input, RandomSource& random) {
  Placement placement;
  RandomFits fits(input, random);
  std::vector<Choice> choices;  // the losers of one choice stand for the next
  while (placement.candidates.size() < kMaxPlacementCandidates) {
    while (choices.size() < kPlacementChoices) {
      const auto node = fits.next();
      if (!node) break;
      const auto& view = input.nodes[*node];
      choices.push_back({*node, load_with(view, in_flight_of(input.in_flight, view.name), input.request.demand)});
    }
    if (choices.empty()) break;
    const auto best = std::min_element(choices.begin(), choices.end(),
                                       [](const Choice& a, const Choice& b) { return a.load < b.load; });
    placement.candidates.push_back(best->node);
    choices.erase(best);
  }
  placement.refusals = fits.take_refusals();
  return placement;
}

}  // namespace harena
