#pragma once
// UseGuard: one operation in progress on a living sandbox.

#include "core/contracts/edge.hpp"
#include "core/lifecycle/sandbox_table.hpp"
#include "sdk/base/clock.hpp"

namespace harena {

class UseGuard final : public SandboxUse {
 public:
  UseGuard(LivePtr live, Clock& clock) : live_(std::move(live)), clock_(clock) {
    live_->begin_use(clock_.monotonic_ns());
    sandbox_ = std::make_unique<Sandbox>(live_->snapshot());
  }
  ~UseGuard() override { live_->end_use(clock_.monotonic_ns()); }
  UseGuard(const UseGuard&) = delete;
  UseGuard& operator=(const UseGuard&) = delete;

  const Sandbox& sandbox() const override { return *sandbox_; }
  const std::string& endpoint() const override { return sandbox_->session_endpoint; }

 private:
  LivePtr live_;
  Clock& clock_;
  std::unique_ptr<Sandbox> sandbox_;  // As it was when the use began.
};

}  // namespace harena
