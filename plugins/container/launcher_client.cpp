#include "plugins/container/launcher_client.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <map>

#include "sdk/support/fault.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/process.hpp"
#include "sdk/support/spawn_attributes.hpp"

namespace harena::container {
namespace {

constexpr const char* kPart = "container-launcher";
/// How often a waiting call looks whether its caller still wants it: the ABI's cancel flag has no descriptor to poll.
constexpr int kCheckEveryMs = 20;

Error launcher_error(ErrorCode code, std::string message) {
  Error error = infrastructure_error(code, kPart, std::move(message));
  error.retry = Retry::same_node;
  return error;
}

Result<Packet> await_packet(int socket, const LauncherClient::CheckCall& check) {
  while (true) {
    pollfd watched{socket, POLLIN, 0};
    const int ready = ::poll(&watched, 1, kCheckEveryMs);
    if (ready > 0) return receive_packet(socket);
    HARENA_TRY_STATUS(check());
  }
}

std::string parent_folder(const std::string& path) {
  const std::size_t slash = path.find_last_not_of('/') == std::string::npos ? 0 : path.rfind('/', path.find_last_not_of('/'));
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

/// posix_spawn: the daemon is large and has threads, so it must never fork by itself.
Result<pid_t> spawn_launcher(const std::string& path, int control) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&actions, 0, 1);
  posix_spawn_file_actions_adddup2(&actions, control, kControlFd);
  posix_spawn_file_actions_addclosefrom_np(&actions, kControlFd + 1);
  const OwnSession session;
  std::string name = "harena-container-launcher";
  char* argv[] = {name.data(), nullptr};
  std::string fault = fault_variable();
  char* environment[] = {fault.empty() ? nullptr : fault.data(), nullptr};
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, path.c_str(), &actions, session.get(), argv, environment);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return errno_error(error, "start " + path);
  return pid;
}

Status always_wanted() { return {}; }

/// The shim finds pids.current and memory.oom_control of the v1 groups by their paths.
std::set<std::string> v1_limit_roots() {
  std::set<std::string> roots;
  auto layout = detect_cgroups();
  if (!layout.ok()) return roots;
  for (const auto& [controller, root] : layout->v1_roots) {
    if (controller == "pids" || controller == "memory") roots.insert(root);
  }
  return roots;
}

}  // namespace

struct LauncherClient::Process {
  pid_t pid = 0;
  UniqueFd pidfd;
  UniqueFd control;
  std::mutex layers_mutex;
  std::map<std::string, std::string> layers;  // digest: where it is mounted there

  /// A dying one closes its socket first and may be busy for a while with the rest.
  bool alive() const {
    pollfd watched{control.get(), 0, 0};
    return ::poll(&watched, 1, 0) == 0 && !wait_process_end(pidfd.get(), 0);
  }
  ~Process() {
    control.reset();  // it ends at the end of its socket
    if (!pidfd) return;
    constexpr std::int64_t kPatienceNs = 2'000'000'000;
    if (!wait_process_end(pidfd.get(), monotonic_now_ns() + kPatienceNs)) (void)signal_process(pidfd.get(), SIGKILL);
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
};

LauncherClient::~LauncherClient() = default;

pid_t LauncherClient::pid() const {
  std::lock_guard lock(mutex_);
  return process_ && process_->alive() ? process_->pid : 0;
}

bool LauncherClient::has_made(const PreparedBlank& blank) const {
  std::lock_guard lock(mutex_);
  return process_ && process_ == blank.launcher && process_->alive();
}

Result<Fields> LauncherClient::ask(Process& process, const Fields& request, const std::vector<int>& fds, const CheckCall& check) {
  HARENA_TRY(auto reply, make_packet_pair());
  std::vector<int> all = {reply.second.get()};
  all.insert(all.end(), fds.begin(), fds.end());
  auto sent = send_packet(process.control.get(), request.encode(), all);
  reply.second.reset();
  if (!sent.ok()) return launcher_error(ErrorCode::unavailable, "the container launcher has died");
  auto packet = await_packet(reply.first.get(), check);
  if (!packet.ok() && packet.error().code == ErrorCode::unavailable) {
    return launcher_error(ErrorCode::unavailable, "the container launcher died during the request");
  }
  if (!packet.ok()) return std::move(packet).error();
  return decode_answer(packet->bytes);
}

Result<std::shared_ptr<LauncherClient::Process>> LauncherClient::start(const std::set<std::string>& roots) {
  for (const auto& [what, path] : {std::pair("launcher", settings_.launcher_path), std::pair("shim", settings_.shim_path)}) {
    if (path.empty()) {
      return launcher_error(ErrorCode::failed_precondition, std::string("the program of the ") + what + " wasn't found; set " + what + "_path in the container plugin's configuration");
    }
  }
  UniqueFd shim(::open(settings_.shim_path.c_str(), O_PATH | O_CLOEXEC));
  if (!shim) return errno_error(errno, "open " + settings_.shim_path);
  auto group = cgroups_.open_platform("launcher");
  if (!group.ok()) group = cgroups_.make_platform("launcher");
  if (!group.ok()) return std::move(group).error();
  HARENA_TRY(auto control, make_packet_pair());
  auto process = std::make_shared<Process>();
  HARENA_TRY(process->pid, spawn_launcher(settings_.launcher_path, control.second.get()));
  process->pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, process->pid, 0)));
  process->control = std::move(control.first);
  control.second.reset();
  Fields hello{{"verb", "hello"}, {"layer_mount", settings_.layer_mount}};
  hello.set_list("roots", std::vector<std::string>(roots.begin(), roots.end()));
  std::vector<int> fds = {shim.get(), group->fd()};
  UniqueFd tools;
  if (!settings_.tools_path.empty()) {
    HARENA_TRY(tools, open_directory(AT_FDCWD, settings_.tools_path));
    fds.push_back(tools.get());
  }
  auto answer = ask(*process, hello, fds, always_wanted);
  if (!answer.ok()) return std::move(answer).error().during("starting the container launcher");
  return process;
}

Result<std::shared_ptr<LauncherClient::Process>> LauncherClient::ensure(const SandboxRequest& request) {
  std::lock_guard lock(mutex_);
  auto wanted = roots_;
  wanted.insert(parent_folder(request.state_dir));
  if (!request.lxcfs.empty()) {
    std::string files = kLxcfsFolder;
    wanted.insert(files.append("/proc"));
  }
  // Only for the first start: reading a long mount table takes longer than making a sandbox.
  if (roots_.empty()) wanted.merge(v1_limit_roots());
  if (process_ && process_->alive() && wanted == roots_ && request.lxcfs_mount == lxcfs_mount_) return process_;
  HARENA_TRY(auto process, start(wanted));
  roots_ = wanted;
  lxcfs_mount_ = request.lxcfs_mount;
  process_ = process;
  idle_order_.clear();
  return process;
}

Status LauncherClient::mount_layers(Process& process, const std::vector<LayerImage>& layers, const CheckCall& check) {
  std::lock_guard lock(process.layers_mutex);
  for (const auto& layer : layers) {
    if (process.layers.count(layer.digest) != 0) continue;
    UniqueFd image(::open(layer.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!image) {
      Error error = errno_error(errno, "open layer " + layer.digest + " at " + layer.path);
      error.cause = Cause::infrastructure;
      error.cause_detail = "image-store";
      return error;
    }
    HARENA_TRY(auto answer, ask(process, {{"verb", "layer"}, {"digest", layer.digest}}, {image.get()}, check));
    process.layers[layer.digest] = answer.text("path");
  }
  return {};
}

void LauncherClient::retain_layers(const std::vector<std::string>& digests) {
  std::lock_guard lock(mutex_);
  for (const auto& digest : digests) {
    ++users_[digest];
    std::erase(idle_order_, digest);
  }
}

void LauncherClient::release_layers(const std::vector<std::string>& digests) {
  std::vector<std::string> victims;
  std::shared_ptr<Process> process;
  {
    std::lock_guard lock(mutex_);
    for (const auto& digest : digests) {
      auto user = users_.find(digest);
      if (user == users_.end() || --user->second > 0) continue;
      users_.erase(user);
      idle_order_.push_back(digest);
    }
    while (idle_order_.size() > settings_.idle_layers) {
      victims.push_back(idle_order_.front());
      idle_order_.erase(idle_order_.begin());
    }
    process = process_;
  }
  if (!process) return;
  std::lock_guard lock(process->layers_mutex);
  for (const auto& digest : victims) {
    if (process->layers.erase(digest) != 0) (void)ask(*process, {{"verb", "drop"}, {"digest", digest}}, {}, always_wanted);
  }
}

Result<LaunchedSandbox> LauncherClient::create(const SandboxRequest& request, const std::vector<LayerImage>& layers,
                                               const std::vector<int>& fds, const CheckCall& check) {
  HARENA_TRY(auto process, ensure(request));
  retain_layers(request.layers);
  auto made = create_in(*process, request, layers, fds, check);
  if (!made.ok()) release_layers(request.layers);
  return made;
}

Result<LaunchedSandbox> LauncherClient::create_in(Process& process, const SandboxRequest& request, const std::vector<LayerImage>& layers,
                                                  const std::vector<int>& fds, const CheckCall& check) {
  HARENA_TRY_STATUS(mount_layers(process, layers, check));
  HARENA_TRY(auto reply, make_packet_pair());
  std::vector<int> all = {reply.second.get()};
  all.insert(all.end(), fds.begin(), fds.end());
  auto sent = send_packet(process.control.get(), request.encode().encode(), all);
  reply.second.reset();
  if (!sent.ok()) return launcher_error(ErrorCode::unavailable, "the container launcher has died");
  return await_sandbox(reply.first.get(), check);
}

Result<LaunchedSandbox> LauncherClient::await_sandbox(int socket, const CheckCall& check) {
  auto made = await_packet(socket, check);
  if (!made.ok() && made.error().code == ErrorCode::unavailable) {
    return launcher_error(ErrorCode::unavailable, "the container launcher died while it made the sandbox");
  }
  if (!made.ok()) return std::move(made).error();
  HARENA_TRY(auto answer, decode_answer(made->bytes));
  LaunchedSandbox sandbox;
  HARENA_TRY(auto shim_pid, answer.number("shim_pid"));
  HARENA_TRY(auto shim_start, answer.number("shim_start"));
  HARENA_TRY(auto init_pid, answer.number("init_pid"));
  HARENA_TRY(auto init_start, answer.number("init_start"));
  sandbox.shim = {static_cast<pid_t>(shim_pid), static_cast<std::uint64_t>(shim_start)};
  sandbox.init = {static_cast<pid_t>(init_pid), static_cast<std::uint64_t>(init_start)};
  sandbox.stages = answer.text("stages");
  auto ready = await_packet(socket, check);
  if (!ready.ok() && ready.error().code == ErrorCode::unavailable) {
    return launcher_error(ErrorCode::unavailable, "the shim ended before it was ready; see shim.stderr in the sandbox's session folder");
  }
  if (!ready.ok()) return std::move(ready).error();
  // The builder reports a failed exec of the shim on the same socket.
  if (auto fields = Fields::decode(ready->bytes); fields.ok() && fields->has("code")) {
    HARENA_TRY(auto unreachable, decode_answer(ready->bytes));
  }
  return sandbox;
}

Result<std::shared_ptr<LauncherClient::Process>> LauncherClient::ensure_folder(const std::string& state_dir) {
  SandboxRequest request;
  request.state_dir = state_dir;
  {
    std::lock_guard lock(mutex_);
    request.lxcfs_mount = lxcfs_mount_;
  }
  return ensure(request);
}

Status LauncherClient::change_root(const SandboxRequest& request, const std::vector<LayerImage>& layers, const ProcessRef& init,
                                   const std::vector<int>& fds) {
  HARENA_TRY(auto process, ensure_folder(request.state_dir));
  HARENA_TRY_STATUS(mount_layers(*process, layers, always_wanted));
  Fields fields = request.encode();
  fields.set("verb", "root");
  fields.set("init_pid", std::int64_t{init.pid});
  fields.set("init_start", static_cast<std::int64_t>(init.start_ticks));
  HARENA_TRY([[maybe_unused]] auto answer, ask(*process, fields, fds, always_wanted));
  return {};
}

Result<std::string> LauncherClient::settle_root(const std::string& state_dir, const ProcessRef& init) {
  HARENA_TRY(auto process, ensure_folder(state_dir));
  Fields fields{{"verb", "settle"}};
  fields.set("init_pid", std::int64_t{init.pid});
  fields.set("init_start", static_cast<std::int64_t>(init.start_ticks));
  HARENA_TRY(auto answer, ask(*process, fields, {}, always_wanted));
  return answer.text("upper");
}

bool PreparedBlank::alive() const {
  pollfd watched{socket.get(), POLLIN, 0};
  // It has nothing more to say: whatever comes is its end.
  return ::poll(&watched, 1, 0) == 0;
}

Result<PreparedBlank> LauncherClient::prepare(BlankRequest request, const std::vector<LayerImage>& layers, const std::vector<int>& fds,
                                              const CheckCall& check) {
  std::shared_ptr<Process> process;
  {
    std::lock_guard lock(mutex_);
    if (process_ && process_->alive() && lxcfs_mount_ == request.lxcfs_mount) process = process_;
  }
  if (!process) return launcher_error(ErrorCode::failed_precondition, "no launcher runs that could prepare a sandbox");
  HARENA_TRY_STATUS(mount_layers(*process, layers, check));
  for (const auto& layer : layers) request.stage_paths.push_back(paths_of(*process, {layer.digest}).front());
  HARENA_TRY(auto reply, make_packet_pair());
  std::vector<int> all = {reply.second.get()};
  all.insert(all.end(), fds.begin(), fds.end());
  auto sent = send_packet(process->control.get(), request.encode().encode(), all);
  reply.second.reset();
  if (!sent.ok()) return launcher_error(ErrorCode::unavailable, "the container launcher has died");
  HARENA_TRY(auto packet, await_packet(reply.first.get(), check));
  HARENA_TRY(auto answer, decode_answer(packet.bytes));
  HARENA_TRY(auto pid, answer.number("shim_pid"));
  HARENA_TRY(auto start, answer.number("shim_start"));
  return PreparedBlank{std::move(reply.first), {static_cast<pid_t>(pid), static_cast<std::uint64_t>(start)}, process, request.lxcfs_mount};
}

Result<LaunchedSandbox> LauncherClient::fill(const PreparedBlank& blank, SandboxRequest request, const std::vector<LayerImage>& layers,
                                             const std::vector<int>& fds, const CheckCall& check) {
  HARENA_TRY(auto process, ensure(request));
  if (blank.launcher != process) return launcher_error(ErrorCode::failed_precondition, "another launcher prepared this sandbox");
  const auto digests = request.layers;
  retain_layers(digests);
  auto made = fill_in(*process, blank, std::move(request), layers, fds, check);
  if (!made.ok()) release_layers(digests);
  return made;
}

Result<LaunchedSandbox> LauncherClient::fill_in(Process& process, const PreparedBlank& blank, SandboxRequest request,
                                                const std::vector<LayerImage>& layers, const std::vector<int>& fds,
                                                const CheckCall& check) {
  HARENA_TRY_STATUS(mount_layers(process, layers, check));
  request.layer_paths = paths_of(process, request.layers);
  Fields fields = request.encode();
  fields.set("verb", "fill");
  auto sent = send_packet(blank.socket.get(), fields.encode(), fds);
  if (!sent.ok()) return launcher_error(ErrorCode::unavailable, "a prepared sandbox has died");
  return await_sandbox(blank.socket.get(), check);
}

std::vector<std::string> LauncherClient::paths_of(Process& process, const std::vector<std::string>& digests) {
  std::lock_guard lock(process.layers_mutex);
  std::vector<std::string> paths;
  for (const auto& digest : digests) paths.push_back(process.layers[digest]);
  return paths;
}

}  // namespace harena::container
