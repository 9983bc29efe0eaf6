#include "core/placement/in_flight_overlay.hpp"

#include <optional>
#include <unordered_map>

namespace harena {

struct InFlightOverlay::Book {
  struct Entry {
    NodeAmount demand;
    std::optional<std::int64_t> made_at_ns;
  };
  using Entries = std::unordered_map<std::uint64_t, Entry>;
  mutable std::mutex mutex;
  std::unordered_map<std::string, Entries> nodes;
  std::uint64_t last_id = 0;

  Entry* find(const std::string& node, std::uint64_t id) {
    const auto entries = nodes.find(node);
    if (entries == nodes.end()) return nullptr;
    const auto it = entries->second.find(id);
    return it == entries->second.end() ? nullptr : &it->second;
  }

  template <class Predicate>
  void erase_if(const std::string& node, Predicate predicate) {
    const auto entries = nodes.find(node);
    if (entries == nodes.end()) return;
    std::erase_if(entries->second, predicate);
    if (entries->second.empty()) nodes.erase(entries);
  }
};

InFlightOverlay::InFlightOverlay() : book_(std::make_shared<Book>()) {}

InFlightOverlay::Ticket InFlightOverlay::begin(const std::string& node, const NodeAmount& demand) {
  std::lock_guard lock(book_->mutex);
  const std::uint64_t id = ++book_->last_id;
  book_->nodes[node].emplace(id, Book::Entry{demand, std::nullopt});
  return Ticket(book_, node, id);
}

void InFlightOverlay::on_report(const std::string& node, std::int64_t taken_at_ns) {
  std::lock_guard lock(book_->mutex);
  book_->erase_if(node, [&](const auto& item) {
    const auto& made_at_ns = item.second.made_at_ns;
    return made_at_ns && *made_at_ns <= taken_at_ns;
  });
}

void InFlightOverlay::forget(const std::string& node) {
  std::lock_guard lock(book_->mutex);
  book_->nodes.erase(node);
}

InFlight InFlightOverlay::snapshot() const {
  std::lock_guard lock(book_->mutex);
  InFlight sums;
  for (const auto& [node, entries] : book_->nodes) {
    auto& sum = sums[node];
    for (const auto& [id, entry] : entries) sum += entry.demand;
  }
  return sums;
}

InFlightOverlay::Ticket& InFlightOverlay::Ticket::operator=(Ticket&& other) noexcept {
  if (this != &other) {
    drop();
    book_ = std::move(other.book_);
    node_ = std::move(other.node_);
    id_ = other.id_;
  }
  return *this;
}

void InFlightOverlay::Ticket::made(std::int64_t now_ns) {
  if (!book_) return;
  const auto book = std::move(book_);  // outlives the lock
  std::lock_guard lock(book->mutex);
  if (auto* entry = book->find(node_, id_)) entry->made_at_ns = now_ns;
}

void InFlightOverlay::Ticket::drop() {
  if (!book_) return;
  const auto book = std::move(book_);
  std::lock_guard lock(book->mutex);
  book->erase_if(node_, [this](const auto& item) { return item.first == id_; });
}

}  // namespace harena
