#pragma once
// InFlightOverlay: what was sent to nodes and can't be in their reports yet. It keeps a burst of creates between two
// reports from landing on the one node that looked empty.
//
//   auto ticket = overlay.begin("n1", demand);
//   ... create on n1 ...
//   ticket.made(clock.monotonic_ns());      // or destroy it: the create failed
//   overlay.on_report("n1", taken_at_ns);   // drops those that were made before the report was taken

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "core/placement/placement.hpp"

namespace harena {

/// Thread-safe, never blocks for I/O. A report costs what is in flight to its node; a snapshot, all that is.
class InFlightOverlay {
 private:
  struct Book;

 public:
  /// Counts until its create has failed (destroyed) or a later report shows it. Movable; may outlive the overlay.
  class Ticket {
   public:
    Ticket() = default;
    Ticket(Ticket&& other) noexcept = default;
    Ticket& operator=(Ticket&& other) noexcept;
    ~Ticket() { drop(); }
    /// The node has it since `now_ns` (monotonic); from then on the next report decides. Ends this ticket.
    void made(std::int64_t now_ns);
    /// It was never made: stops counting at once. Idempotent.
    void drop();

   private:
    friend class InFlightOverlay;
    Ticket(std::shared_ptr<Book> book, std::string node, std::uint64_t id)
        : book_(std::move(book)), node_(std::move(node)), id_(id) {}
    std::shared_ptr<Book> book_;
    std::string node_;
    std::uint64_t id_ = 0;
  };

  InFlightOverlay();

  Ticket begin(const std::string& node, const NodeAmount& demand);
  /// `taken_at_ns`: monotonic, when the node was asked for its report (not when it answered).
  void on_report(const std::string& node, std::int64_t taken_at_ns);
  /// The node is gone for good.
  void forget(const std::string& node);
  InFlight snapshot() const;

 private:
  std::shared_ptr<Book> book_;
};

}  // namespace harena
