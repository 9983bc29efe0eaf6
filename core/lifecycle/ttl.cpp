// What time does to sandboxes: idle actions, absolute ends, and stops that have to be repeated.
#include "core/lifecycle/manager.hpp"

namespace harena {
namespace {

constexpr std::int64_t kNanosPerSecond = 1'000'000'000;

bool idle_too_long(const Sandbox& sandbox, std::int64_t idle_ns) {
  return sandbox.state == SandboxState::running && sandbox.spec.idle_ttl_s > 0 &&
         idle_ns >= sandbox.spec.idle_ttl_s * kNanosPerSecond;
}

bool is_over(const Sandbox& sandbox, std::int64_t now_ms) {
  return sandbox.expires_ms != 0 && now_ms >= sandbox.expires_ms;
}

}  // namespace

void SandboxManager::take_lifetime_action(const LivePtr& live) {
  const Sandbox sandbox = live->snapshot();
  // Looked at again here: it may have been given more time since tick() saw it.
  if (!is_over(sandbox, parts_.clock.wall_ms())) return;
  if (sandbox.spec.lifetime_action == IdleAction::stop) {
    (void)stop({}, sandbox.id, 0, {Cause::none, "lifetime", "its lifetime is over"});
    return;
  }
  const auto paused = pause({}, sandbox.id);
  if (!paused.ok()) parts_.notice("warning", "pausing at the end of its lifetime: " + paused.error().describe());
}

void SandboxManager::take_idle_action(const LivePtr& live) {
  const Sandbox sandbox = live->snapshot();
  // Looked at again here: an operation may have begun since tick() saw it.
  if (!idle_too_long(sandbox, live->idle_ns(parts_.clock.monotonic_ns()))) return;
  if (sandbox.spec.idle_action == IdleAction::pause) {
    const auto paused = pause({}, sandbox.id);
    if (!paused.ok()) parts_.notice("warning", "idle pause: " + paused.error().describe());
    return;
  }
  const auto stopped = stop({}, sandbox.id, 0, {Cause::none, "idle_ttl", "no operation for " +
                                                std::to_string(sandbox.spec.idle_ttl_s) + " s"});
  if (!stopped.ok()) parts_.notice("warning", "idle stop: " + stopped.error().describe());
}

void SandboxManager::tick(const std::function<void(std::function<void()>)>& run_in_background) {
  const std::int64_t now_ns = parts_.clock.monotonic_ns();
  const std::int64_t now_ms = parts_.clock.wall_ms();
  for (const auto& live : table_.all()) {
    const Sandbox sandbox = live->snapshot();
    if (sandbox.state == SandboxState::creating) continue;
    if (is_over(sandbox, now_ms) && (sandbox.spec.lifetime_action == IdleAction::stop || sandbox.state == SandboxState::running)) {
      run_in_background([this, live] { take_lifetime_action(live); });
    } else if (idle_too_long(sandbox, live->idle_ns(now_ns))) {
      run_in_background([this, live] { take_idle_action(live); });
    } else if (sandbox.state == SandboxState::stopping) {
      run_in_background([this, id = sandbox.id] { (void)stop({}, id, 0); });
    }
  }
}

}  // namespace harena
