#pragma once
// harena.state-store/1 on SQLite: one writer (writer.hpp), readers beside it (readers.hpp), watches that read the
// history of changes.

#include <condition_variable>
#include <memory>
#include <mutex>

#include "plugins/statestore-sqlite/readers.hpp"
#include "plugins/statestore-sqlite/writer.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/cpp/plugin.hpp"

namespace harena::sqlite {

using plugin::Call;

class SqliteStore final : public plugin::StateStorePlugin {
 public:
  static constexpr plugin::Info kInfo{.licence = "Apache-2.0", .config_schema = kConfigSchema};
  static Result<std::unique_ptr<SqliteStore>> make(const Call& call, plugin::Host host, const plugin::json& config);

  Result<std::int64_t> get(const Call& call, std::string_view key) override;
  Result<std::int64_t> range(const Call& call, std::string_view start, std::string_view end, std::int64_t limit) override;
  Result<std::int64_t> txn(const Call& call, std::span<const plugin::StateOp> ops) override;
  Status watch(const Call& call, std::string_view prefix, std::int64_t after_revision) override;

 private:
  SqliteStore(UniqueFd lock, Options options) : lock_(std::move(lock)), readers_(std::move(options)) {}
  void tell(std::int64_t revision);
  // False when the call should end.
  bool wait_beyond(const Call& call, std::int64_t revision);
  // Emits the changes after `after` to keys with the prefix, up to a bounded number; returns how far it came.
  Result<std::int64_t> emit_changes(const Call& call, std::string_view prefix, std::int64_t after);

  UniqueFd lock_;  // first: released last
  Readers readers_;
  std::unique_ptr<Writer> writer_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t told_ = 0;
};

}  // namespace harena::sqlite
