#include "guest/agent.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "sdk/session/fields.hpp"

namespace harena::guest {
namespace {

using namespace session;

/// How long the machine stays for the last answers to reach the host.
constexpr std::int64_t kLingerMs = 300;
/// A shim that doesn't end after its grace and this isn't waited for.
constexpr std::int64_t kEndPatienceMs = 5'000;

Result<std::string> encoded(Status status) {
  if (!status.ok()) return std::move(status).error();
  return std::string();
}
template <class T>
Result<std::string> encoded(Result<T> result) {
  if (!result.ok()) return std::move(result).error();
  return encode(*result);
}

/// Decodes the request and gives the answer of `work`.
template <class Request, class Work>
void serve(const std::string& payload, const AgentReply& reply, Work work) {
  auto request = decode<Request>(payload, UnknownKeys::refuse);
  reply(request.ok() ? encoded(work(*request)) : Result<std::string>(std::move(request).error()));
}

}  // namespace

Result<std::unique_ptr<Agent>> Agent::create(Channel channel, BootTimes boot) {
  std::unique_ptr<Agent> agent(new Agent(boot));
  HARENA_TRY_STATUS(agent->watch_children());
  agent->timer_ = UniqueFd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!agent->timer_) return errno_error(errno, "timerfd_create");
  auto handler = [raw = agent.get()](FrameType type, const std::string& payload, AgentReply reply) {
    raw->on_request(type, payload, std::move(reply));
  };
  HARENA_TRY(agent->bridge_, ChannelBridge::in_guest(std::move(channel.connection), kShimSocket, handler));
  agent->listener_ = std::move(channel.listener);
  return agent;
}

Status Agent::watch_children() {
  sigset_t mask;
  ::sigemptyset(&mask);
  ::sigaddset(&mask, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &mask, nullptr);
  signals_ = UniqueFd(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return errno_error(errno, "signalfd");
  return {};
}

void Agent::run() {
  while (!done_) {
    std::array<pollfd, 4> fds = {
        pollfd{bridge_->fd(), POLLIN, 0}, {signals_.get(), POLLIN, 0}, {timer_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    ::poll(fds.data(), fds.size(), -1);
    if (fds[1].revents != 0) on_children();
    if (fds[2].revents != 0) done_ = true;
    if (fds[3].revents != 0) {
      if (UniqueFd again = accept_host(listener_.get()); again) bridge_->renew_channel(std::move(again));
    }
    // A broken tunnel is the host's to mend: it synchronises anew.
    (void)bridge_->turn();
  }
}

void Agent::on_request(FrameType type, const std::string& payload, AgentReply reply) {
  switch (type) {
    case FrameType::agent_configure: return serve<ConfigureRequest>(payload, reply, [&](const auto& r) { return sandbox_.configure(r); });
    case FrameType::agent_freeze: return serve<FreezeRequest>(payload, reply, [&](const auto& r) { return sandbox_.freeze(r); });
    case FrameType::agent_thaw: return serve<ThawRequest>(payload, reply, [&](const auto&) { return sandbox_.thaw(); });
    case FrameType::agent_renew: return serve<RenewRequest>(payload, reply, [&](const auto& r) { return sandbox_.renew(r); });
    case FrameType::agent_metrics: return serve<MetricsRequest>(payload, reply, [&](const auto&) { return sandbox_.metrics(); });
    case FrameType::agent_wait:
      if (sandbox_.ended()) return reply(encode(sandbox_.end()));
      return waiters_.push_back(std::move(reply));
    case FrameType::agent_power_off: {
      auto request = decode<PowerOffRequest>(payload, UnknownKeys::refuse);
      return request.ok() ? power_off(*request, reply) : reply(std::move(request).error());
    }
    default: return reply(make_error(ErrorCode::unimplemented, "the agent doesn't know '" + to_string(type) + "'"));
  }
}

void Agent::power_off(const PowerOffRequest& request, const AgentReply& reply) {
  reply(std::string());
  if (!sandbox_.configured() || sandbox_.ended()) return leave_soon(kLingerMs);
  (void)sandbox_.shut_down(request.grace_ms);
  leave_soon(request.grace_ms + kEndPatienceMs);
}

void Agent::on_children() {
  std::array<signalfd_siginfo, 16> ignored;
  while (::read(signals_.get(), ignored.data(), sizeof ignored) > 0) {
  }
  for (pid_t pid = 0; (pid = ::waitpid(-1, nullptr, WNOHANG)) > 0;) {
    if (!sandbox_.on_child_end(pid)) continue;
    for (auto& reply : std::exchange(waiters_, {})) reply(encode(sandbox_.end()));
    leaving_ = false;
    leave_soon(kLingerMs);
  }
}

void Agent::leave_soon(std::int64_t ms) {
  if (std::exchange(leaving_, true)) return;
  itimerspec when{};
  when.it_value.tv_sec = ms / 1000;
  when.it_value.tv_nsec = ms % 1000 * 1'000'000 + 1;
  ::timerfd_settime(timer_.get(), 0, &when, nullptr);
}

}  // namespace harena::guest
