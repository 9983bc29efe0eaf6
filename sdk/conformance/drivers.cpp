#include "sdk/conformance/drivers.hpp"

namespace harena::conformance {
namespace {

Result<std::int64_t> revision_of(Result<json> document) {
  if (!document.ok()) return std::move(document).error();
  if (!document->contains("revision") || !(*document)["revision"].is_number_integer()) {
    return make_error(ErrorCode::internal, "the plugin broke its contract: its result " + document->dump() + " has no \"revision\"");
  }
  return (*document)["revision"].get<std::int64_t>();
}

StateItem copy_of(const loader::Item& item) {
  return {std::string(item.key), std::string(item.value), item.revision, item.deleted};
}

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> ImageStoreDriver::list(std::string_view prefix, std::string_view cursor,
                                                                                std::int64_t limit) const {
  std::vector<std::pair<std::string, std::string>> found;
  CallOptions options;
  options.on_item = [&found](const loader::Item& item) { return found.emplace_back(item.key, item.value), true; };
  HARENA_TRY_STATUS(invoke(table.list, self, std::move(options), abi(prefix), abi(cursor), limit));
  return found;
}

Result<std::vector<std::pair<std::string, std::int64_t>>> ImageStoreDriver::list_blobs(std::string_view cursor, std::int64_t limit) const {
  std::vector<std::pair<std::string, std::int64_t>> found;
  CallOptions options;
  options.on_item = [&found](const loader::Item& item) { return found.emplace_back(item.key, item.revision), true; };
  HARENA_TRY_STATUS(invoke(table.list_blobs, self, std::move(options), abi(cursor), limit));
  return found;
}

Result<std::optional<StateItem>> StateStoreDriver::get(std::string_view key, CallOptions o) const {
  std::optional<StateItem> found;
  o.on_item = [&found](const loader::Item& item) { return found = copy_of(item), true; };
  HARENA_TRY_STATUS(revision_of(invoke(table.get, self, std::move(o), abi(key))));
  return found;
}

Result<StateStoreDriver::Read> StateStoreDriver::range(std::string_view start, std::string_view end, std::int64_t limit,
                                                       CallOptions o) const {
  Read read;
  o.on_item = [&read](const loader::Item& item) { return read.items.push_back(copy_of(item)), true; };
  HARENA_TRY(read.revision, revision_of(invoke(table.range, self, std::move(o), abi(start), abi(end), limit)));
  return read;
}

Result<std::int64_t> StateStoreDriver::txn(const std::vector<StateChange>& changes, CallOptions o) const {
  std::vector<harena_state_op> ops;
  for (const auto& change : changes) {
    ops.push_back({sizeof(harena_state_op), change.kind, abi(change.key), abi(change.value), change.revision});
  }
  std::vector<const harena_state_op*> pointers;
  for (const auto& op : ops) pointers.push_back(&op);
  return revision_of(invoke(table.txn, self, std::move(o), pointers.data(), std::uint64_t{pointers.size()}));
}

Status StateStoreDriver::watch(std::string_view prefix, std::int64_t after, CallOptions o) const {
  HARENA_TRY_STATUS(invoke(table.watch, self, std::move(o), abi(prefix), after));
  return ok_status();
}

}  // namespace harena::conformance
