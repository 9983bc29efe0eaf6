#pragma once
// QuotaLedger: what the sandboxes of every project use together, against the limits of it and of all above it.
//
//   HARENA_TRY(auto reservation, quotas.reserve(spec.project, {.sandboxes = 1, .cpu_milli = 2'000}));
//   ... make the sandbox; keep `reservation` as long as it lives; destroying it gives everything back
//
// Kept in memory: at start the edge adopts one reservation for every live sandbox.

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/model/project.hpp"
#include "core/store/project_repository.hpp"
#include "sdk/base/result.hpp"

namespace harena {

/// Each from 0 to 2^43 (8 TiB of memory for one sandbox).
struct QuotaAmount {
  std::int64_t sandboxes = 1;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  bool operator==(const QuotaAmount&) const = default;
};

/// Thread-safe, never blocks for I/O. All or nothing along the chain.
class QuotaLedger {
 private:
  struct Book;

 public:
  /// Owns a part of the ledger until it is destroyed or released. Movable; may outlive the ledger.
  class Reservation {
   public:
    Reservation() = default;
    Reservation(Reservation&& other) noexcept = default;
    Reservation& operator=(Reservation&& other) noexcept;
    ~Reservation() { release(); }
    /// Idempotent.
    void release();
    explicit operator bool() const { return book_ != nullptr; }
    const QuotaAmount& amount() const { return amount_; }

   private:
    friend class QuotaLedger;
    Reservation(std::shared_ptr<Book> book, ProjectPath project, QuotaAmount amount)
        : book_(std::move(book)), project_(std::move(project)), amount_(amount) {}
    std::shared_ptr<Book> book_;
    ProjectPath project_ = ProjectPath::root();
    QuotaAmount amount_;
  };

  QuotaLedger();

  /// resource_exhausted (cause limit, detail "quota." and the limit's name) names the project along the chain, its limit, what is
  /// used and what was asked. invalid_argument for an amount out of range.
  Result<Reservation> reserve(const ProjectPath& project, QuotaAmount amount);
  /// The same without looking at limits, for what lives already. Precondition: the amount is in range.
  Reservation adopt(const ProjectPath& project, QuotaAmount amount);
  /// Another amount for what lives already; only what is more than before is checked against the limits. On failure, as reserve
  /// has it, the reservation is as before.
  Status resize(Reservation& reservation, QuotaAmount amount);
  /// Another project for what lives already; what both are below is asked for nothing more. On failure, as reserve has it, the
  /// reservation is as before.
  Status move(Reservation& reservation, const ProjectPath& project);
  /// What a project and everything below it use now.
  QuotaAmount used(const ProjectPath& project) const;
  /// Takes effect for the next reserve; lower than what is used is fine and only refuses more.
  void set_limits(const ProjectPath& project, const QuotaLimits& limits);

 private:
  std::shared_ptr<Book> book_;
};

}  // namespace harena
