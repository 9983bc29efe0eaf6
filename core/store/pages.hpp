#pragma once
// Reading a range of the store page by page.

#include <functional>
#include <string>
#include <string_view>

#include "core/contracts/state_store.hpp"

namespace harena {

/// Entries a read: with records of a few KiB a page is under a MiB, whatever the range holds.
inline constexpr std::int64_t kPageEntries = 256;

/// Calls `each` for every entry whose key begins with `prefix`, by key, from `start` (empty: the first) on. `each`
/// returns false to stop; an error of it ends the reading and is returned. Pages are read one after the other, so a
/// change between two may or may not be seen.
Status for_each_entry(StateStore& store, const CallContext& call, std::string_view prefix, std::string start,
                      const std::function<Result<bool>(const StateEntry&)>& each);

/// data_loss naming the key for a value that isn't JSON.
Result<nlohmann::json> parse_record(const StateEntry& entry);
/// The text of a record: bytes that aren't UTF-8 are replaced, so that what is written can be read.
std::string record_text(const nlohmann::json& value);

}  // namespace harena
