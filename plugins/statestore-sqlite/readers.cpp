#include "plugins/statestore-sqlite/readers.hpp"

#include "plugins/statestore-sqlite/layout.hpp"

namespace harena::sqlite {

Result<Readers::Lease> Readers::lease() {
  std::unique_lock lock(mutex_);
  free_.wait(lock, [this] { return !idle_.empty() || open_ < options_.readers; });
  if (!idle_.empty()) {
    auto db = std::move(idle_.back());
    idle_.pop_back();
    return Lease(*this, std::move(db));
  }
  ++open_;
  lock.unlock();
  auto db = open_reader(options_);
  if (db.ok()) return Lease(*this, *std::move(db));
  lock.lock();
  --open_;
  free_.notify_one();
  return std::move(db).error();
}

void Readers::give_back(std::unique_ptr<Connection> db) {
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(db));
  free_.notify_one();
}

}  // namespace harena::sqlite
