#include "plugins/microvm/machine/firecracker_vmm.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <map>

#include "plugins/microvm/machine/firecracker_api.hpp"
#include "plugins/microvm/machine/firecracker_jail.hpp"
#include "plugins/microvm/machine/firecracker_requests.hpp"
#include "plugins/microvm/machine/vsock_channel.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/process.hpp"

namespace harena::microvm {
namespace {

namespace jail = firecracker_jail;

constexpr std::size_t kMostLogBytes = 64 << 10;
constexpr std::size_t kToldLogBytes = 600;

class FirecrackerVmm final : public Vmm {
 public:
  FirecrackerVmm(vmm::EventLoop& loop, const VmmSpec& spec) : loop_(loop), log_path_(spec.log_path) {}
  ~FirecrackerVmm() override { end(); }

  Status start(const VmmSpec& spec, std::int64_t deadline_ns);
  pid_t pid() const override { return process_.keeper; }
  int pidfd() const override { return process_.pidfd.get(); }
  std::string ended() override;
  void on_channel(std::function<void(UniqueFd)> handler) override;
  UniqueFd take_console() override { return std::move(console_); }
  std::string version() const override { return "firecracker " + version_; }
  std::string guest_serial(const std::string& serial) const override;
  Status stop(std::int64_t deadline_ns) override;
  Status run(std::int64_t deadline_ns) override;
  Status save(const SavePaths& to, std::int64_t deadline_ns) override;
  Status load_state(const std::string& path, std::int64_t deadline_ns) override;
  Status put_overlay(const std::string&, const std::string&, std::int64_t) override;
  Status flatten(const std::string&, std::int64_t) override { return {}; }
  void end() override;

 private:
  Status boot(const VmmSpec& spec, std::int64_t deadline_ns);
  Status read_version(std::int64_t deadline_ns);
  Status say(const FirecrackerRequest& request, std::int64_t deadline_ns);
  Error with_log(Error error);
  void reap(int options);

  vmm::EventLoop& loop_;
  std::string log_path_;
  std::unique_ptr<FirecrackerJail> jail_;
  FirecrackerJail::Process process_;
  std::unique_ptr<FirecrackerApi> api_;
  std::unique_ptr<VsockChannel> vsock_;
  UniqueFd console_;
  std::string version_ = "?";
  std::map<std::string, std::string> serials_;
  std::string ended_;
  std::vector<FirecrackerRequest> after_load_;
  bool running_ = false;
};

Status FirecrackerVmm::say(const FirecrackerRequest& request, std::int64_t deadline_ns) {
  auto answer = api_->call(request.method, request.path, request.body, deadline_ns);
  if (answer.ok()) return {};
  return with_log(std::move(answer).error());
}

Status FirecrackerVmm::read_version(std::int64_t deadline_ns) {
  auto answer = api_->call("GET", "/version", nullptr, deadline_ns);
  if (!answer.ok()) return with_log(std::move(answer).error());
  const auto found = answer->is_object() ? answer->value("firecracker_version", json()) : json();
  version_ = found.is_string() ? found.get<std::string>() : answer->dump();
  return check_firecracker_version(version_);
}

Status FirecrackerVmm::start(const VmmSpec& spec, std::int64_t deadline_ns) {
  HARENA_TRY_STATUS(check_firecracker_spec(spec));
  after_load_ = limit_requests(spec);
  HARENA_TRY(jail_, FirecrackerJail::make(spec));
  for (const auto& disk : spec.disks) {
    HARENA_TRY(serials_[disk.serial], jail_->drive_serial(jail::drive(disk.serial)));
  }
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno_error(errno, "socketpair");
  console_ = UniqueFd(ends[0]);
  UniqueFd theirs(ends[1]);
  UniqueFd log(::open(spec.log_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!log) return errno_error(errno, "opening " + spec.log_path);
  HARENA_TRY(process_, jail_->start(spec, theirs.get(), log.get()));
  HARENA_TRY(UniqueFd folder, jail_->open());
  api_ = std::make_unique<FirecrackerApi>(loop_, std::move(folder), jail::kApiSocket);
  if (Status there = api_->await([this] { return ended(); }, deadline_ns); !there.ok()) return with_log(std::move(there).error());
  HARENA_TRY_STATUS(read_version(deadline_ns));
  return spec.incoming ? Status() : boot(spec, deadline_ns);
}

Status FirecrackerVmm::boot(const VmmSpec& spec, std::int64_t deadline_ns) {
  for (const auto& request : boot_requests(spec)) HARENA_TRY_STATUS(say(request, deadline_ns));
  running_ = true;
  return {};
}

void FirecrackerVmm::on_channel(std::function<void(UniqueFd)> handler) {
  auto folder = jail_->open();
  if (!folder.ok()) return;
  vsock_ = std::make_unique<VsockChannel>(loop_, *std::move(folder), jail::kVsock, kGuestPort);
  // What fails here is seen by whoever waits for the guest.
  (void)vsock_->start(std::move(handler));
}

std::string FirecrackerVmm::guest_serial(const std::string& serial) const {
  const auto found = serials_.find(serial);
  return found == serials_.end() ? serial : found->second;
}

Status FirecrackerVmm::stop(std::int64_t deadline_ns) {
  if (!running_) return {};
  HARENA_TRY_STATUS(say(state_request(false), deadline_ns));
  running_ = false;
  return {};
}

Status FirecrackerVmm::run(std::int64_t deadline_ns) {
  if (running_) return {};
  HARENA_TRY_STATUS(say(state_request(true), deadline_ns));
  running_ = true;
  return {};
}

Status FirecrackerVmm::save(const SavePaths& to, std::int64_t deadline_ns) {
  Status saved = say(save_request(to.kind), deadline_ns);
  if (saved.ok()) saved = jail_->take(jail::kOutState, to.state);
  if (saved.ok()) saved = jail_->take(jail::kOutMemory, to.memory);
  if (saved.ok()) return {};
  auto root = jail_->open();
  if (root.ok()) {
    for (const char* name : {jail::kOutState, jail::kOutMemory}) ::unlinkat(root->get(), name, 0);
  }
  ::unlink(to.state.c_str());
  ::unlink(to.memory.c_str());
  return saved;
}

Status FirecrackerVmm::load_state(const std::string& path, std::int64_t deadline_ns) {
  HARENA_TRY_STATUS(jail_->put(path, jail::kState));
  HARENA_TRY_STATUS(say(load_request(), deadline_ns));
  for (const auto& request : after_load_) HARENA_TRY_STATUS(say(request, deadline_ns));
  return {};
}

Status FirecrackerVmm::put_overlay(const std::string&, const std::string&, std::int64_t) {
  return make_error(ErrorCode::unimplemented, "Firecracker's disks have no overlays");
}

Error FirecrackerVmm::with_log(Error error) {
  auto text = read_file_at(AT_FDCWD, log_path_, kMostLogBytes);
  if (text.ok() && !text->empty()) {
    error.message += "; Firecracker says: " + text->substr(text->size() > kToldLogBytes ? text->size() - kToldLogBytes : 0);
  }
  return error;
}

void FirecrackerVmm::reap(int options) {
  if (process_.keeper <= 0 || !ended_.empty()) return;
  int status = 0;
  if (::waitpid(process_.keeper, &status, options) != process_.keeper) return;
  if (WIFSIGNALED(status)) {
    ended_ = "signal " + std::to_string(WTERMSIG(status));
  } else {
    const int code = WEXITSTATUS(status);  // the keeper's word for a signal: 128 and its number
    ended_ = code > 128 ? "signal " + std::to_string(code - 128) : "exit " + std::to_string(code);
  }
}

std::string FirecrackerVmm::ended() {
  reap(WNOHANG);
  return ended_;
}

void FirecrackerVmm::end() {
  vsock_.reset();
  if (process_.keeper > 0 && ended_.empty()) {
    // The first process of its pid namespace: the kernel kills the rest, and its end is seen when they are gone.
    ::kill(process_.keeper, SIGKILL);
    reap(0);
  }
  api_.reset();
  jail_.reset();
}

}  // namespace

Result<std::unique_ptr<Vmm>> launch_firecracker(vmm::EventLoop& loop, const VmmSpec& spec, std::int64_t deadline_ns) {
  auto vmm = std::make_unique<FirecrackerVmm>(loop, spec);
  HARENA_TRY_STATUS(vmm->start(spec, deadline_ns));
  return std::unique_ptr<Vmm>(std::move(vmm));
}

VmmDriver firecracker_driver() {
  // reboot=k: by the keyboard's controller, at which Firecracker ends. It has no PCI that a kernel could look for.
  const std::string command_line = "console=ttyS0 quiet panic=-1 reboot=k pci=off harena.vsock=" + std::to_string(kGuestPort);
  return {VmmTraits{.maps_ram_file = false, .disk_chains = false}, command_line, launch_firecracker};
}

}  // namespace harena::microvm
