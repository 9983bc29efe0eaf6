#pragma once
// Connections for reading, in parallel with each other and with the writer: each sees the last committed state.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "plugins/statestore-sqlite/connection.hpp"
#include "plugins/statestore-sqlite/options.hpp"

namespace harena::sqlite {

/// Thread-safe. Connections are opened when they are first needed.
class Readers {
 public:
  explicit Readers(Options options) : options_(std::move(options)) {}

  /// A connection of one's own until it is destroyed; waits for one when all are in use.
  class Lease {
   public:
    Lease(Readers& pool, std::unique_ptr<Connection> db) : pool_(&pool), db_(std::move(db)) {}
    Lease(Lease&&) = default;
    ~Lease() {
      if (db_ != nullptr) pool_->give_back(std::move(db_));
    }
    Connection* operator->() { return db_.get(); }
    Connection& operator*() { return *db_; }

   private:
    Readers* pool_;
    std::unique_ptr<Connection> db_;
  };
  Result<Lease> lease();

 private:
  void give_back(std::unique_ptr<Connection> db);
  const Options options_;
  std::mutex mutex_;
  std::condition_variable free_;
  std::vector<std::unique_ptr<Connection>> idle_;
  std::size_t open_ = 0;
};

/// A read transaction: all its statements see one revision. Ends with the object.
class Snapshot {
 public:
  static Result<Snapshot> begin(Connection& db) {
    HARENA_TRY_STATUS(db.execute("BEGIN"));
    return Snapshot(db);
  }
  Snapshot(Snapshot&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
  ~Snapshot() {
    if (db_ != nullptr) (void)db_->execute("ROLLBACK");  // nothing was written
  }

 private:
  explicit Snapshot(Connection& db) : db_(&db) {}
  Connection* db_;
};

}  // namespace harena::sqlite
