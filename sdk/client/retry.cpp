#include "sdk/client/retry.hpp"

#include <algorithm>
#include <utility>

namespace harena::client {

namespace {

bool may_repeat(const Error& error, bool idempotent) {
  if (error.cause == Cause::infrastructure && error.cause_detail == kNotSent) return true;
  if (error.cause == Cause::infrastructure && error.cause_detail == kConnectionLost) return idempotent;
  return error.retry != Retry::never;
}

}  // namespace

Attempts::Attempts(RetryPolicy policy, RandomSource& random, Sleep sleep)
    : policy_(policy), random_(random), sleep_(std::move(sleep)) {}

bool Attempts::again(const Error& error, bool idempotent) {
  if (++count_ >= policy_.attempts || !may_repeat(error, idempotent)) return false;
  const auto full = std::min(policy_.max_delay, policy_.first_delay * (1 << std::min(count_ - 1, 20)));
  const auto half = full.count() / 2;
  sleep_(std::chrono::milliseconds(half + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(half) + 1))));
  return true;
}

}  // namespace harena::client
