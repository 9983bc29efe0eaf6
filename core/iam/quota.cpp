#include "core/iam/quota.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace harena {

struct QuotaLedger::Book {
  struct Account {
    QuotaAmount used{.sandboxes = 0};
    QuotaLimits limits;
    bool idle() const { return used == QuotaAmount{.sandboxes = 0} && limits == QuotaLimits{}; }
  };
  mutable std::mutex mutex;
  std::map<ProjectPath, Account> accounts;

  Status check(const ProjectPath& project, const QuotaAmount& amount) const;
  void add(const ProjectPath& project, const QuotaAmount& amount);
  void subtract(const ProjectPath& project, const QuotaAmount& amount);
};

namespace {

/// One of the three things that are counted.
struct Dimension {
  std::string_view name;
  std::int64_t QuotaAmount::*amount;
  std::optional<std::int64_t> QuotaLimits::*limit;
};
constexpr std::array<Dimension, 3> kDimensions = {{
    {"sandboxes", &QuotaAmount::sandboxes, &QuotaLimits::sandboxes},
    {"cpu_milli", &QuotaAmount::cpu_milli, &QuotaLimits::cpu_milli},
    {"memory_bytes", &QuotaAmount::memory_bytes, &QuotaLimits::memory_bytes},
}};

/// No machine has as much: with it 2^20 reservations can't overflow a sum, and subtracting gives back exactly.
constexpr std::int64_t kMaxAmount = std::int64_t{1} << 43;

Error exhausted(const ProjectPath& project, const Dimension& dimension, std::int64_t limit, std::int64_t used,
                std::int64_t wanted) {
  Error error = make_error(ErrorCode::resource_exhausted,
                           "project '" + project.str() + "' may use " + std::to_string(limit) + " " +
                               std::string(dimension.name) + "; it uses " + std::to_string(used) + " and " +
                               std::to_string(wanted) + " more were asked for");
  error.cause = Cause::limit;
  error.cause_detail = std::string("quota.") + std::string(dimension.name);
  return error;
}

Status check_amount(const QuotaAmount& amount) {
  for (const auto& dimension : kDimensions) {
    const std::int64_t value = amount.*dimension.amount;
    if (value >= 0 && value <= kMaxAmount) continue;
    return make_error(ErrorCode::invalid_argument, std::string(dimension.name) + " is " + std::to_string(value) +
                                                       "; it must be from 0 to " + std::to_string(kMaxAmount));
  }
  return ok_status();
}

}  // namespace

Status QuotaLedger::Book::check(const ProjectPath& project, const QuotaAmount& amount) const {
  for (const auto& level : project.with_ancestors()) {
    const auto it = accounts.find(level);
    if (it == accounts.end()) continue;
    for (const auto& dimension : kDimensions) {
      const auto& limit = it->second.limits.*dimension.limit;
      const std::int64_t wanted = amount.*dimension.amount;
      const std::int64_t used = it->second.used.*dimension.amount;
      if (limit && wanted > 0 && used + wanted > *limit) {
        return exhausted(level, dimension, *limit, used, wanted);
      }
    }
  }
  return ok_status();
}

void QuotaLedger::Book::add(const ProjectPath& project, const QuotaAmount& amount) {
  for (const auto& level : project.with_ancestors()) {
    auto& used = accounts[level].used;
    for (const auto& d : kDimensions) used.*d.amount += amount.*d.amount;
  }
}

void QuotaLedger::Book::subtract(const ProjectPath& project, const QuotaAmount& amount) {
  for (const auto& level : project.with_ancestors()) {
    const auto it = accounts.find(level);
    if (it == accounts.end()) continue;
    for (const auto& d : kDimensions) it->second.used.*d.amount -= amount.*d.amount;
    if (it->second.idle()) accounts.erase(it);
  }
}

QuotaLedger::QuotaLedger() : book_(std::make_shared<Book>()) {}

Result<QuotaLedger::Reservation> QuotaLedger::reserve(const ProjectPath& project, QuotaAmount amount) {
  HARENA_TRY_STATUS(check_amount(amount));
  std::lock_guard lock(book_->mutex);
  HARENA_TRY_STATUS(book_->check(project, amount));
  book_->add(project, amount);
  return Reservation(book_, project, amount);
}

QuotaLedger::Reservation QuotaLedger::adopt(const ProjectPath& project, QuotaAmount amount) {
  std::lock_guard lock(book_->mutex);
  book_->add(project, amount);
  return Reservation(book_, project, amount);
}

Status QuotaLedger::resize(Reservation& reservation, QuotaAmount amount) {
  HARENA_TRY_STATUS(check_amount(amount));
  if (!reservation) return ok_status();
  std::lock_guard lock(book_->mutex);
  QuotaAmount more;
  for (const auto& d : kDimensions) more.*d.amount = std::max<std::int64_t>(0, amount.*d.amount - reservation.amount_.*d.amount);
  HARENA_TRY_STATUS(book_->check(reservation.project_, more));
  book_->subtract(reservation.project_, reservation.amount_);
  book_->add(reservation.project_, amount);
  reservation.amount_ = amount;
  return ok_status();
}

Status QuotaLedger::move(Reservation& reservation, const ProjectPath& project) {
  if (!reservation) return ok_status();
  std::lock_guard lock(book_->mutex);
  book_->subtract(reservation.project_, reservation.amount_);
  const Status fits = book_->check(project, reservation.amount_);
  if (fits.ok()) reservation.project_ = project;
  book_->add(reservation.project_, reservation.amount_);
  return fits;
}

QuotaAmount QuotaLedger::used(const ProjectPath& project) const {
  std::lock_guard lock(book_->mutex);
  const auto it = book_->accounts.find(project);
  return it == book_->accounts.end() ? QuotaAmount{.sandboxes = 0} : it->second.used;
}

void QuotaLedger::set_limits(const ProjectPath& project, const QuotaLimits& limits) {
  std::lock_guard lock(book_->mutex);
  auto& account = book_->accounts[project];
  account.limits = limits;
  if (account.idle()) book_->accounts.erase(project);
}

QuotaLedger::Reservation& QuotaLedger::Reservation::operator=(Reservation&& other) noexcept {
  if (this != &other) {
    release();
    book_ = std::move(other.book_);
    project_ = std::move(other.project_);
    amount_ = other.amount_;
  }
  return *this;
}

void QuotaLedger::Reservation::release() {
  if (!book_) return;
  const auto book = std::move(book_);  // outlives the lock
  std::lock_guard lock(book->mutex);
  book->subtract(project_, amount_);
}

}  // namespace harena
