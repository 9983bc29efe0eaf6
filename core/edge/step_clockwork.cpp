#include <condition_variable>

#include "core/edge/edge_role.hpp"

namespace harena {
namespace {

constexpr std::chrono::seconds kTick{1};
constexpr int kTicksPerPurge = 60;
constexpr int kTicksPerProbe = 30;

/// Waits for one tick; false when it is time to stop.
bool wait_tick(std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any condition;
  std::unique_lock lock(mutex);
  condition.wait_for(lock, stop, kTick, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace

Step EdgeRole::clockwork_step() {
  return {"clockwork",
          [this]() -> Status {
            clockwork_ = std::jthread([this](std::stop_token stop) {
              for (int tick = 1; wait_tick(stop); ++tick) {
                manager_->tick([this](std::function<void()> work) { boost::asio::post(*workers_, std::move(work)); });
                if (tick % kTicksPerProbe == 0) boost::asio::post(*workers_, [this] { probe_backends(); });
                if (tick % kTicksPerPurge == 0) boost::asio::post(*workers_, [this] {
                  if (const auto purged = manager_->purge(); !purged.ok()) parts_.notice("warning", purged.error().describe());
                });
              }
            });
            return ok_status();
          },
          [this] { clockwork_ = std::jthread(); }};
}

}  // namespace harena
