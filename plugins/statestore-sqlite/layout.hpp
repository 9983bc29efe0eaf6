#pragma once
// The file: its folder, the lock that keeps other processes out, its tables and their version, its check.
//
//   kv       key -> value, revision: what is
//   history  the last changes, for watches; value NULL: deleted
//   meta     revision: the store's; forgotten: the newest revision that history doesn't have any more

#include <memory>
#include <string>

#include "plugins/statestore-sqlite/connection.hpp"
#include "plugins/statestore-sqlite/options.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/cpp/call.hpp"

namespace harena::sqlite {

inline constexpr std::int64_t kSchemaVersion = 1;
/// "HRNA": tells a Harena database from any other file of SQLite.
inline constexpr std::int64_t kApplicationId = 0x48524e41;

/// Makes the folder of `path` and takes PATH.lock for the life of the descriptor. failed_precondition when another
/// process holds it after a few seconds (a predecessor that is still ending is waited for).
Result<UniqueFd> take_lock(const plugin::Call& call, const std::string& path);

/// The writing connection: WAL, tables of kSchemaVersion. data_loss for a damaged file (names what is wrong),
/// failed_precondition for another program's file or a newer version's.
Result<std::unique_ptr<Connection>> open_writer(const Options& options);
Result<std::unique_ptr<Connection>> open_reader(const Options& options);

}  // namespace harena::sqlite
