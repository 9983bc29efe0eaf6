#include "plugins/microvm/warmer.hpp"

#include <algorithm>

#include "sdk/base/signal_mask.hpp"

namespace harena::microvm {
namespace {

constexpr std::string_view kPrefix = "warm-";

}  // namespace

Warmer::Warmer(Work work, Limits limits)
    : work_(std::move(work)), limits_(limits), prefix_(std::string(kPrefix) + std::to_string(monotonic_now_ns()) + "-") {
  thread_ = std::thread([this] { run(); });
}

Warmer::~Warmer() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  for (auto* list : {&waiting_, &unwanted_}) {
    for (auto& spare : *list) work_.end_spare(std::move(spare));
  }
}

Warmer::Serving::Serving(Warmer& warmer) : warmer_(warmer) {
  std::lock_guard lock(warmer_.mutex_);
  ++warmer_.serving_;
}

Warmer::Serving::~Serving() {
  std::lock_guard lock(warmer_.mutex_);
  --warmer_.serving_;
  warmer_.last_create_ = std::chrono::steady_clock::now();
  warmer_.changed_.notify_all();
}

std::optional<Spare> Warmer::take(const std::string& key) {
  std::lock_guard lock(mutex_);
  const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const Spare& spare) { return spare.key == key; });
  if (found == waiting_.end()) return std::nullopt;
  std::optional<Spare> taken = std::move(*found);
  waiting_.erase(found);
  return taken;
}

void Warmer::was_used(TemplateOrder order) {
  std::lock_guard lock(mutex_);
  last_ = std::move(order);
  changed_.notify_all();
}

void Warmer::want(TemplateOrder order) {
  std::lock_guard lock(mutex_);
  const auto same = [&](const TemplateOrder& other) { return other.key == order.key; };
  if (std::any_of(orders_.begin(), orders_.end(), same) || failures_[order.key] >= kMostFailures) return;
  orders_.push_back(std::move(order));
  changed_.notify_all();
}

void Warmer::forget(const std::string& key) {
  std::lock_guard lock(mutex_);
  if (last_ && last_->key == key) last_.reset();
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (it->key != key) {
      ++it;
      continue;
    }
    unwanted_.push_back(std::move(*it));
    it = waiting_.erase(it);
  }
  changed_.notify_all();
}

std::string Warmer::next_name() {
  std::lock_guard lock(mutex_);
  return prefix_ + std::to_string(++serial_);
}

std::size_t Warmer::waiting() const {
  std::lock_guard lock(mutex_);
  return waiting_.size();
}

std::string Warmer::problem() const {
  std::lock_guard lock(mutex_);
  return problem_;
}

bool Warmer::idle() const { return std::chrono::steady_clock::now() >= last_create_ + limits_.idle; }

bool Warmer::wants_spare() const {
  if (!last_ || limits_.ahead == 0 || idle() || failures_.count("spare " + last_->key) != 0) return false;
  const auto of_last = std::count_if(waiting_.begin(), waiting_.end(), [&](const Spare& spare) { return spare.key == last_->key; });
  // Full of others: the one that waits longest makes room for the first of this template.
  return waiting_.size() < limits_.ahead || of_last == 0;
}

bool Warmer::something_to_do() const {
  if (ending_ || !unwanted_.empty()) return true;
  return serving_ == 0 && (!orders_.empty() || wants_spare() || (idle() && !waiting_.empty()));
}

void Warmer::run() {
  block_all_signals();
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (waiting_.empty() || serving_ > 0) {  // a create that ends says so
      changed_.wait(lock, [this] { return something_to_do(); });
    } else {
      changed_.wait_until(lock, last_create_ + limits_.idle, [this] { return something_to_do(); });
    }
    if (!ending_) step(lock);
  }
}

void Warmer::step(std::unique_lock<std::mutex>& lock) {
  if (!unwanted_.empty()) return end_one(lock, unwanted_);
  if (serving_ > 0) return;
  if (!orders_.empty()) return make_next_template(lock);
  if (!waiting_.empty() && (idle() || (wants_spare() && waiting_.size() >= limits_.ahead))) return end_one(lock, waiting_);
  if (wants_spare()) make_next_spare(lock);
}

void Warmer::end_one(std::unique_lock<std::mutex>& lock, std::deque<Spare>& from) {
  Spare spare = std::move(from.front());
  from.pop_front();
  lock.unlock();
  work_.end_spare(std::move(spare));
  lock.lock();
}

void Warmer::failed(const std::string& what, const Error& why) {
  if (ending_) return;
  problem_ = what + ": " + why.describe();
  work_.warn(problem_);
}

Warmer::Check Warmer::until_the_end() {
  return [this] {
    std::lock_guard lock(mutex_);
    return ending_ ? Status(make_error(ErrorCode::cancelled, "the daemon ends")) : Status();
  };
}

void Warmer::make_next_template(std::unique_lock<std::mutex>& lock) {
  const TemplateOrder order = std::move(orders_.front());
  orders_.pop_front();
  lock.unlock();
  const Status made = work_.make_template(order, until_the_end());
  lock.lock();
  if (made.ok()) {
    failures_.erase(order.key);
    failures_.erase("spare " + order.key);
    last_ = order;
    problem_.clear();
    return;
  }
  ++failures_[order.key];
  failed("a template of a microVM couldn't be made", made.error());
}

void Warmer::make_next_spare(std::unique_lock<std::mutex>& lock) {
  const TemplateOrder order = *last_;
  const std::string name = prefix_ + std::to_string(++serial_);
  lock.unlock();
  auto made = work_.make_spare(order, name, until_the_end());
  lock.lock();
  if (made.ok()) {
    problem_.clear();
    return waiting_.push_back(*std::move(made));
  }
  // Not again before somebody has made this template anew.
  ++failures_["spare " + order.key];
  failed("a microVM that stands by couldn't be made", made.error());
}

}  // namespace harena::microvm
