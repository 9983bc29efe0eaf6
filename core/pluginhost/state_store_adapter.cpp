#include "core/pluginhost/state_store_adapter.hpp"

namespace harena {

using loader::Item;
using loader::to_abi;

namespace {

StateEntry entry_of(const Item& item) {
  return {std::string(item.key), std::string(item.value), item.revision};
}

std::uint32_t abi_kind(StateOp::Kind kind) {
  switch (kind) {
    case StateOp::Kind::check: return HARENA_STATE_CHECK;
    case StateOp::Kind::put: return HARENA_STATE_PUT;
    case StateOp::Kind::remove: return HARENA_STATE_DELETE;
  }
  return HARENA_STATE_CHECK;
}

harena_state_op abi_op(const StateOp& op) {
  return {sizeof(harena_state_op), abi_kind(op.kind), to_abi(op.key), to_abi(op.value), op.revision};
}

/// Why an item doesn't belong where it was given; empty: it does.
std::string misplaced(const Item& item, const std::vector<StateEntry>& before, const std::string& start,
                      const std::string& end, std::int64_t limit) {
  if (std::ssize(before) >= limit) return "gave more than the " + std::to_string(limit) + " items that were asked for";
  if (item.deleted) return "gave an item without a value";
  if (item.key < start || (!end.empty() && item.key >= end)) return "gave a key outside the range";
  if (!before.empty() && item.key <= before.back().key) return "gave keys out of order";
  if (item.revision <= 0) return "gave the revision " + std::to_string(item.revision) + " for a key that is there";
  return "";
}

}  // namespace

Result<std::unique_ptr<StateStoreAdapter>> StateStoreAdapter::make(std::shared_ptr<const loader::Instance> instance) {
  HARENA_TRY(const auto table, instance->state_store());
  return std::unique_ptr<StateStoreAdapter>(new StateStoreAdapter(PluginCaller(std::move(instance)), table));
}

Result<std::optional<StateEntry>> StateStoreAdapter::get(const CallContext& call, const std::string& key) {
  std::vector<StateEntry> found;
  std::string problem;
  const auto collect = [&](const Item& item) {
    problem = item.key == key ? misplaced(item, found, key, "", 1) : "gave another key than the one asked for";
    if (problem.empty()) found.push_back(entry_of(item));
    return problem.empty();
  };
  const auto function = [&](void* self, const harena_call* record) { return table_.get(self, record, to_abi(key)); };
  const auto done = caller_.call(call, "get", function, collect);
  if (!problem.empty()) return caller_.broken("get", problem);
  if (!done) return done.error();
  return found.empty() ? std::optional<StateEntry>() : std::optional(std::move(found.front()));
}

Result<std::vector<StateEntry>> StateStoreAdapter::range(const CallContext& call, const std::string& start,
                                                         const std::string& end, std::int64_t limit) {
  std::vector<StateEntry> found;
  std::string problem;
  const auto collect = [&](const Item& item) {
    problem = misplaced(item, found, start, end, limit);
    if (problem.empty()) found.push_back(entry_of(item));
    return problem.empty();
  };
  const auto function = [&](void* self, const harena_call* record) {
    return table_.range(self, record, to_abi(start), to_abi(end), limit);
  };
  const auto done = caller_.call(call, "range", function, collect);
  if (!problem.empty()) return caller_.broken("range", problem);
  if (!done) return done.error();
  return found;
}

Result<std::int64_t> StateStoreAdapter::txn(const CallContext& call, const std::vector<StateOp>& ops,
                                            Durability durability) {
  std::vector<harena_state_op> records;
  for (const auto& op : ops) records.push_back(abi_op(op));
  std::vector<const harena_state_op*> pointers;
  for (const auto& record : records) pointers.push_back(&record);
  const auto function = [&](void* self, const harena_call* record) {
    return table_.txn(self, record, pointers.data(), pointers.size());
  };
  const std::uint32_t flags = durability == Durability::process ? HARENA_STATE_RELAXED : 0;
  HARENA_TRY(const auto document, caller_.call(call, "txn", function, nullptr, flags));
  ResultReader read(caller_, "txn", document);
  const auto revision = read.integer("revision", 0);
  if (auto wrong = read.error()) return std::move(*wrong);
  return revision;
}

Status StateStoreAdapter::watch(const CallContext& call, const std::string& prefix, std::int64_t after_revision,
                                const std::function<bool(const std::string&, const std::optional<std::string>&,
                                                         std::int64_t)>& on_change) {
  std::string problem;
  std::int64_t seen = after_revision;
  const auto pass_on = [&](const Item& item) {
    if (!item.key.starts_with(prefix)) problem = "gave a key outside the prefix";
    if (item.revision < seen || item.revision <= after_revision) problem = "gave changes out of order";
    if (!problem.empty()) return false;
    seen = item.revision;
    const auto value = item.deleted ? std::nullopt : std::optional<std::string>(item.value);
    return on_change(std::string(item.key), value, item.revision);
  };
  const auto function = [&](void* self, const harena_call* record) {
    return table_.watch(self, record, to_abi(prefix), after_revision);
  };
  const auto done = caller_.call(call, "watch", function, pass_on);
  if (!problem.empty()) return caller_.broken("watch", problem);
  if (!done) return done.error();
  return caller_.broken("watch", "ended without being told to");
}

}  // namespace harena
