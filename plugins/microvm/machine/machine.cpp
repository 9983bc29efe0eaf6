#include "plugins/microvm/machine/machine.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "sdk/session/tunnel/agent_messages.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/support/process.hpp"

namespace harena::microvm {
namespace {

constexpr std::size_t kEntropyBytes = 64;

std::int64_t wall_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::string random_bytes(RandomSource& random, std::size_t count) {
  std::string bytes(count, '\0');
  random.fill(std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

const char* name_of(Machine::State state) {
  switch (state) {
    case Machine::State::starting: return "starting";
    case Machine::State::standby: return "standing by";
    case Machine::State::running: return "running";
    case Machine::State::paused: return "paused";
    case Machine::State::ended: return "ended";
  }
  return "?";
}

Error not_now(Machine::State state, const char* verb) {
  return make_error(ErrorCode::failed_precondition, std::string("the machine is ") + name_of(state) + ": " + verb + " isn't possible");
}

}  // namespace

Machine::Machine(vmm::EventLoop& loop, RandomSource& random, MachineConfig config, std::vector<int> group_files, VmmDriver driver)
    : loop_(loop), random_(random), config_(std::move(config)), group_files_(std::move(group_files)), driver_(std::move(driver)) {}

Machine::~Machine() {
  (void)let_go_of_vmm();
  if (bridge_) loop_.unwatch(bridge_->fd());
}

void Machine::fail(Error why) {
  if (state_ == State::ended) return;
  state_ = State::ended;
  why_ended_ = std::move(why);
}

std::unique_ptr<Vmm> Machine::let_go_of_vmm() {
  if (console_) loop_.unwatch(console_.get());
  console_.reset();
  if (vmm_) loop_.unwatch(vmm_->pidfd());
  return std::move(vmm_);
}

void Machine::watch_console() {
  const auto watched = loop_.watch(console_.get(), EPOLLIN, [this](std::uint32_t) {
    char bytes[4096];
    const ssize_t got = ::recv(console_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return loop_.unwatch(console_.get());
    console_text_.append(bytes, static_cast<std::size_t>(got));
    if (console_text_.size() > 2 * kConsoleBytes) console_text_.erase(0, console_text_.size() - kConsoleBytes);
  });
  if (!watched.ok()) fail(watched.error());
}

std::unique_ptr<Vmm> Machine::adopt_vmm(std::unique_ptr<Vmm> vmm, session::LinkStart start) {
  auto before = let_go_of_vmm();
  vmm_ = std::move(vmm);
  console_ = vmm_->take_console();
  watch_console();
  has_channel_ = false;
  vmm_->on_channel([this, how = start](UniqueFd channel) mutable {
    has_channel_ = true;
    bridge_->replace_channel(std::move(channel), std::exchange(how, session::LinkStart::go_on));
  });
  const auto watched = loop_.watch(vmm_->pidfd(), EPOLLIN, [this](std::uint32_t) {
    const std::string how = vmm_->ended();
    // A guest that powers itself off or panics ends its VMM without an error of its own.
    const bool guest = how == "exit 0";
    const std::string tail = console_text_.substr(console_text_.size() > 300 ? console_text_.size() - 300 : 0);
    loop_.unwatch(vmm_->pidfd());
    fail(infrastructure_error(ErrorCode::unavailable, guest ? "guest" : "vmm",
                              guest ? "the guest's kernel ended; its console: " + tail : "the VMM ended: " + how));
  });
  if (!watched.ok()) fail(watched.error());
  return before;
}

Result<std::string> Machine::ask(session::FrameType type, std::string payload, std::int64_t timeout_ms, const char* what) {
  auto answer = std::make_shared<std::optional<Result<std::string>>>();
  bridge_->ask(type, std::move(payload), timeout_ms, [answer](Result<std::string> reply) { answer->emplace(std::move(reply)); });
  const auto done = [&] { return answer->has_value() || state_ == State::ended; };
  HARENA_TRY_STATUS(loop_.run_until(done, monotonic_now_ns() + (timeout_ms + 5'000) * 1'000'000, what));
  if (!answer->has_value()) return why_ended_;
  if (!(*answer)->ok()) return std::move((*answer)->error()).during(what);
  return std::move(**answer).value();
}

Status Machine::freeze() {
  HARENA_TRY_STATUS(ask(session::FreezeRequest{}, kAgentPatienceMs, "freezing the guest's processes"));
  return {};
}

Status Machine::thaw() {
  HARENA_TRY_STATUS(ask(session::ThawRequest{}, kAgentPatienceMs, "thawing the guest's processes"));
  return {};
}

session::GuestIdentity Machine::identity(bool clone) {
  session::GuestIdentity identity;
  if (clone) {
    identity.hostname = config_.hostname;
    identity.machine_id = config_.machine_id;
    identity.entropy = random_bytes(random_, kEntropyBytes);
  }
  identity.wall_ns = wall_ns();
  return identity;
}

/// The clock was set at some moment of the question: how long that took is how far it may be off. A guest that has just begun to go on may
/// have taken its time; asked for the clock alone, it is quick.
Status Machine::narrow_clock(std::int64_t& within_ns) {
  for (int i = 0; i < kClockTries && within_ns > kClockWithinNs; ++i) {
    session::RenewRequest request;
    request.identity.wall_ns = wall_ns();
    const std::int64_t sent = monotonic_now_ns();
    HARENA_TRY(const std::string bytes, ask(request, kAgentPatienceMs, "setting the guest's clock"));
    within_ns = monotonic_now_ns() - sent;  // it was set anew, be it nearer or not
  }
  return {};
}

Result<json> Machine::renew(bool clone) {
  const session::RenewRequest request{identity(clone), clone ? config_.sandbox : std::string()};
  // What a start waits for, be it from memory or not: with many machines that start at once under emulation it is long.
  const std::int64_t patience_ms = std::max(kAgentPatienceMs, config_.start_timeout_ms);
  const std::int64_t sent = monotonic_now_ns();
  HARENA_TRY(const std::string bytes, ask(request, patience_ms, "renewing the guest's identity"));
  HARENA_TRY(const auto answer, session::decode<session::RenewAnswer>(bytes));
  std::int64_t within_ns = monotonic_now_ns() - sent;
  HARENA_TRY_STATUS(narrow_clock(within_ns));
  json told = {{"renewed", answer.renewed}, {"clock_step_ns", answer.clock_step_ns}, {"clock_within_us", within_ns / 1000}};
  if (clone && !answer.hooks.empty()) told["hooks"] = answer.hooks;  // the plugin runs them
  return told;
}

Result<json> Machine::pause() {
  if (state_ == State::paused) return json::object();
  if (state_ != State::running) return not_now(state_, "pause");
  const std::int64_t begun = monotonic_now_ns();
  HARENA_TRY_STATUS(freeze());
  fault_point("machine.pause.frozen");
  auto stopped = vmm_->stop(begun + kStepPatienceNs);
  auto image = stopped.ok() ? capture(config_.vm_dir, names_) : Result<MachineImage>(std::move(stopped).error());
  Status written = image.ok() ? image->write_to_disk(config_.vm_dir) : Status(image.error());
  // What another process takes it over by, after a reboot too.
  if (written.ok()) written = sync_if_there(path("config.json"));
  if (!written.ok()) {
    (void)MachineImage::forget(config_.vm_dir);
    if (image.ok()) remove_files({image->state, image->delta});
    if (image.ok() && !driver_.traits.maps_ram_file) {
      if (image->ram != ram_) remove_files({image->ram});
      remove_files({std::exchange(ram_, {})});  // what changed since then has been forgotten: the next save is a whole one
    }
    const Status ran = vmm_->run(monotonic_now_ns() + kStepPatienceNs);
    const Status thawed = ran.ok() ? thaw() : ran;
    if (!thawed.ok()) fail(thawed.error());
    return std::move(written).error().during("pausing");
  }
  fault_point("machine.pause.written");
  bridge_->close_channel();
  (void)let_go_of_vmm();
  mapping_ = RamMapping::own_copy;
  ram_ = image->ram;
  state_ = State::paused;
  // Where it fails, the delta stays as it is.
  (void)merge_large_delta(config_.vm_dir, names_, *image);
  return json{{"pause_us", (monotonic_now_ns() - begun) / 1000}};
}

Result<json> Machine::resume() {
  if (state_ == State::running) return json::object();
  if (state_ != State::paused) return not_now(state_, "resume");
  const std::int64_t begun = monotonic_now_ns();
  HARENA_TRY(const auto image, MachineImage::read(config_.vm_dir));
  HARENA_TRY_STATUS(image.check_files(config_.vm_dir));
  HARENA_TRY(auto prepared, prepare(image));
  fault_point("machine.resume.prepared");
  const auto link = link_lost_ ? session::LinkStart::new_epoch : session::LinkStart::go_on;
  HARENA_TRY(json told, go_on(std::move(prepared), image, link, false));
  link_lost_ = false;
  told["resume_us"] = (monotonic_now_ns() - begun) / 1000;
  return told;
}

Result<json> Machine::power_off(std::int64_t grace_ms) {
  if (state_ != State::running) return json::object();
  const auto grace = static_cast<std::uint32_t>(grace_ms);
  HARENA_TRY_STATUS(ask(session::PowerOffRequest{grace}, grace_ms + 5'000, "asking the guest to end"));
  return json::object();
}

Result<json> Machine::metrics() {
  if (state_ != State::running) return not_now(state_, "measuring");
  HARENA_TRY(const std::string bytes, ask(session::MetricsRequest{}, 2'000, "asking the guest for its metrics"));
  HARENA_TRY(const auto now, session::decode<session::MetricsAnswer>(bytes));
  return json{{"memory_bytes", now.memory_bytes}, {"memory_limit_bytes", now.memory_limit_bytes}, {"cpu_usec", now.cpu_usec},
              {"pids", now.pids},                 {"disk_bytes", now.disk_bytes},                 {"disk_limit_bytes", now.disk_limit_bytes},
              {"oom_kills", now.oom_kills}};
}

json Machine::status() const {
  return {{"state", name_of(state_)}, {"vmm_pid", vmm_ ? vmm_->pid() : 0}, {"vmm", vmm_ ? vmm_->version() : ""},
          {"ram", mapping_ == RamMapping::shared ? "shared" : "own_copy"}, {"disk_files", disk_.size()}};
}

}  // namespace harena::microvm
