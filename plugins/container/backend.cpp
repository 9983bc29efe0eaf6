#include "plugins/container/backend.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <set>

#include "plugins/container/seccomp_profile.hpp"
#include "sdk/base/text.hpp"
#include "sdk/support/files.hpp"

namespace harena::container {
namespace {

constexpr std::int64_t kMs = 1'000'000;
/// How long what is being removed may take to die when the call has no deadline of its own.
constexpr std::int64_t kRemovePatienceNs = 20'000 * kMs;
/// How long a shim may take to write down how its commands ended.
constexpr std::int64_t kShimPatienceNs = 2'000 * kMs;
constexpr std::int64_t kLockPatienceNs = 2'000 * kMs;
constexpr std::int64_t kFreezePatienceNs = 10'000 * kMs;
constexpr int kBacklog = 1024;
/// Our init is in the sandbox's cgroup, but not one of the processes that the user was promised.
constexpr std::int64_t kOwnPids = 1;

/// An id becomes the name of cgroups: whatever the host promises, it is checked here.
Status check_id(std::string_view id) {
  const bool good = !id.empty() && id.size() <= 64 && id != "launcher" && id != "platform" && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-';
  });
  if (good) return {};
  return make_error(ErrorCode::invalid_argument, "sandbox id '" + std::string(id) + "': 1 to 64 characters of [0-9a-z-] are right");
}

Error unknown(std::string_view id) {
  return make_error(ErrorCode::not_found, "sandbox '" + std::string(id) + "' isn't known to the container backend");
}

std::int64_t deadline_of(const Call& call, std::int64_t patience_ns) {
  const std::int64_t own = monotonic_now_ns() + patience_ns;
  return call.deadline_ns() == 0 ? own : std::min(own, call.deadline_ns());
}

/// What fails here without having been the caller's mistake or wish is this machine's doing.
Error infrastructure(Error error, const char* part) {
  const bool callers = error.code == ErrorCode::invalid_argument || error.code == ErrorCode::unimplemented || error.code == ErrorCode::already_exists ||
                       error.code == ErrorCode::cancelled || error.code == ErrorCode::deadline_exceeded;
  if (error.cause == Cause::none && !callers) {
    // A file of ours that isn't there isn't the sandbox that somebody asked for.
    if (error.code == ErrorCode::not_found) error.code = ErrorCode::unavailable;
    error.cause = Cause::infrastructure;
    error.cause_detail = part;
    error.retry = Retry::other_node;
  }
  return error;
}

/// Bound through the folder's descriptor, so that the length of the path doesn't matter here; it does for those who connect.
Result<UniqueFd> listen_at(const std::string& run_dir, const std::string& endpoint) {
  if (endpoint.size() >= sizeof(sockaddr_un::sun_path)) {
    return make_error(ErrorCode::failed_precondition, "the session socket's path " + endpoint + " has " + std::to_string(endpoint.size()) +
                                                          " bytes; the kernel allows 107: use a shorter run directory");
  }
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return errno_error(errno, "socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  endpoint.copy(address.sun_path, sizeof address.sun_path - 1);
  // Mode of the socket from the start: no umask games in a process with threads.
  ::fchmod(socket.get(), 0600);
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return errno_error(errno, "bind " + endpoint);
  if (::listen(socket.get(), kBacklog) != 0) return errno_error(errno, "listen on " + run_dir);
  return socket;
}

Status make_folders(const std::string& state_dir, std::uint32_t first_id) {
  HARENA_TRY(UniqueFd state, open_directory(AT_FDCWD, state_dir));
  for (const auto& [name, mode] : {std::pair("u", 0755u), std::pair("w", 0755u), std::pair("session", 0700u)}) {
    HARENA_TRY(UniqueFd folder, ensure_directory(state.get(), name, mode));
    if (name[0] == 's') continue;
    if (::fchmod(folder.get(), mode) != 0 || ::fchown(folder.get(), first_id, first_id) != 0) return errno_error(errno, "chown the upper folder");
  }
  return {};
}

std::map<std::string, std::string> environment_of(const json& request, const Parameters& parameters) {
  std::map<std::string, std::string> env = {{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, {"HOME", "/root"}, {"LANG", "C.UTF-8"}};
  const json config = request.value("image_config", json::object());
  for (const auto& variable : config.value("env", std::vector<std::string>{})) {
    const std::size_t equals = variable.find('=');
    if (equals != std::string::npos && equals != 0) env[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  for (const auto& [name, value] : request.value("env", std::map<std::string, std::string>{})) env[name] = value;
  for (const auto& [name, value] : parameters.env) env[name] = value;
  return env;
}

std::string image_user(const json& request) { return request.value("image_config", json::object()).value("user", ""); }

Result<std::vector<LayerImage>> layers_of(const json& request) {
  std::vector<LayerImage> layers;
  std::set<std::string> seen;
  for (const auto& layer : request.value("layers", json::array())) {
    if (layer.value("format", "erofs") != "erofs") {
      return make_error(ErrorCode::invalid_argument, "layer " + layer.at("digest").dump() + " has format " + layer["format"].dump() + "; the container backend mounts \"erofs\"");
    }
    LayerImage image{layer.at("digest").get<std::string>(), layer.at("path").get<std::string>()};
    if (seen.insert(image.digest).second) layers.push_back(std::move(image));
  }
  if (layers.empty()) return make_error(ErrorCode::invalid_argument, "a container needs an image of at least one layer");
  return layers;
}

SandboxRequest launcher_request(const std::string& id, const json& request, const Parameters& parameters, const Granted& granted, const std::vector<LayerImage>& layers,
                                std::uint32_t first_id) {
  SandboxRequest wanted;
  wanted.id = id;
  wanted.first_id = first_id;
  wanted.state_dir = request.at("state_dir").get<std::string>();
  for (const auto& layer : layers) wanted.layers.push_back(layer.digest);
  wanted.hostname = parameters.hostname.empty() ? id : parameters.hostname;
  wanted.shm_bytes = parameters.shm_bytes;
  for (const auto& [path, bytes] : parameters.tmpfs) wanted.tmpfs.push_back(path + "=" + std::to_string(bytes));
  wanted.readonly_rootfs = parameters.readonly_rootfs;
  wanted.capabilities = default_capabilities() | granted.capabilities;
  for (const auto& mount : parameters.weakening.mounts) wanted.mount_targets.push_back(mount.target);
  for (const auto& [name, value] : environment_of(request, parameters)) wanted.environment.push_back(name + "=" + value);
  return wanted;
}

CgroupLimits limits_of(const Parameters& parameters) {
  CgroupLimits limits;
  limits.cpu_millicores = parameters.cpu_millicores;
  limits.cpu_weight = parameters.cpu_weight;
  limits.memory_bytes = parameters.memory_bytes;
  limits.pids = parameters.pids + kOwnPids;
  return limits;
}

/// What the shim wrote down at its end (shim/README.md). Root inside can't end init, and nobody inside can reach the shim: an
/// end that nobody asked for is this machine's, unless the memory limit brought it.
struct Ending {
  Cause cause;
  std::string detail;
};
Ending ending_of(const SandboxState& state, const std::string& otherwise) {
  auto text = read_file_at(AT_FDCWD, state.state_dir + "/session/exit.json");
  if (text.ok()) {
    const json document = json::parse(*text, nullptr, false);
    if (document.is_object() && document.value("cause", json()) == "oom") return {Cause::limit, "memory"};
  }
  return {Cause::infrastructure, otherwise};
}

/// A predecessor that was killed a moment ago may still be closing its descriptors (or a launcher of it hasn't reached its exec); the
/// kernel tells nobody when a lock becomes free within a time, so this looks again.
Result<UniqueFd> lock_patiently(const CgroupTree& cgroups) {
  const std::int64_t deadline = monotonic_now_ns() + kLockPatienceNs;
  while (true) {
    auto held = cgroups.lock();
    if (held.ok() || held.error().code != ErrorCode::failed_precondition || monotonic_now_ns() >= deadline) return held;
    ::poll(nullptr, 0, 10);
  }
}

/// Asks everything but the init to end, and waits for as much of it as the grace allows.
void ask_to_end(const CgroupGroup& group, pid_t init, std::int64_t grace_ms) {
  auto pids = group.processes();
  if (!pids.ok()) return;
  std::vector<UniqueFd> asked;
  for (pid_t pid : *pids) {
    if (pid == init) continue;
    UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (fd && signal_process(fd.get(), SIGTERM).ok()) asked.push_back(std::move(fd));
  }
  const std::int64_t deadline = monotonic_now_ns() + grace_ms * kMs;
  for (const auto& fd : asked) {
    if (!wait_process_end(fd.get(), deadline)) return;
  }
}

}  // namespace

Result<std::unique_ptr<ContainerBackend>> ContainerBackend::make(const Call&, Host host, const json& config) {
  HARENA_TRY(Settings settings, Settings::parse(config));
  return std::make_unique<ContainerBackend>(host, std::move(settings));
}

Result<ContainerBackend::Engine*> ContainerBackend::engine() {
  std::lock_guard lock(engine_mutex_);
  if (engine_) return engine_.get();
  HARENA_TRY(auto layout, detect_cgroups());
  HARENA_TRY(auto cgroups, CgroupTree::open(layout, settings_.cgroup_parent, settings_.instance));
  HARENA_TRY(UniqueFd held, lock_patiently(cgroups));
  HARENA_TRY(auto program, seccomp_profile().compile(ENOSYS));
  HARENA_TRY(UniqueFd seccomp, seccomp_memfd(program));
  auto made = std::make_unique<Engine>(Engine{std::move(cgroups), std::move(held), std::move(seccomp), nullptr, nullptr});
  made->launcher = std::make_unique<LauncherClient>(settings_, made->cgroups);
  made->watcher = std::make_unique<ExitWatcher>([this](const std::string& id) { on_exit(id); });
  engine_ = std::move(made);
  return engine_.get();
}

Result<json> ContainerBackend::describe(const Call&) {
  return json{{"name", "container"},
              {"params_schema", parameters_schema()},
              {"kept", {{"pause", "memory"}}},
              {"session", true},
              {"needs_image", true},
              {"seccomp_profile_version", kSeccompProfileVersion}};
}

Result<json> ContainerBackend::probe(const Call&) { return probe_host(settings_); }

std::optional<ContainerBackend::Record> ContainerBackend::record_of(const std::string& id) const {
  std::lock_guard lock(mutex_);
  auto found = records_.find(id);
  return found == records_.end() ? std::nullopt : std::optional(found->second);
}

Result<json> ContainerBackend::create(const Call& call, const json& request) {
  const auto id = request.at("sandbox_id").get<std::string>();
  HARENA_TRY_STATUS(check_id(id));
  HARENA_TRY(auto parameters, parse_parameters(request.value("params", json::object())));
  HARENA_TRY(Granted granted, grant(settings_.allowances, parameters.weakening));
  HARENA_TRY_STATUS(call.check());
  auto ready = engine();
  if (!ready.ok()) return infrastructure(std::move(ready).error(), "cgroup");
  {
    std::lock_guard lock(mutex_);
    if (!records_.emplace(id, Record{}).second) return make_error(ErrorCode::already_exists, "sandbox '" + id + "' exists");
  }
  // An id whose groups exist is in use too, by a sandbox that nobody told us about: nothing of it is touched.
  if (auto existing = (*ready)->cgroups.open_sandbox(id); existing.ok()) {
    std::lock_guard lock(mutex_);
    records_.erase(id);
    return make_error(ErrorCode::already_exists, "sandbox '" + id + "' exists");
  }
  auto made = create_recorded(call, **ready, id, request, parameters, granted);
  // Told when it is made: a refused one weakens nothing.
  if (made.ok()) tell_uses(id, granted);
  if (made.ok()) return made;
  (void)remove(**ready, id, 0);
  return infrastructure(std::move(made).error(), "container");
}

Result<json> ContainerBackend::create_recorded(const Call& call, Engine& engine, const std::string& id, const json& request,
                                               const Parameters& parameters, const Granted& granted) {
  HARENA_TRY(auto layers, layers_of(request));
  SandboxState state;
  request.at("run_dir").get_to(state.run_dir);
  request.at("state_dir").get_to(state.state_dir);
  state.endpoint = state.run_dir + "/session.sock";
  HARENA_TRY(state.boot, boot_id());
  HARENA_TRY(state.first_id, ids_.acquire());
  {
    std::lock_guard lock(mutex_);
    records_[id].first_id = state.first_id;
    records_[id].state = state;
  }
  HARENA_TRY(auto groups, engine.cgroups.make_sandbox(id, limits_of(parameters), settings_.allow_missing_limits));
  HARENA_TRY(auto platform, engine.cgroups.make_platform(id));
  HARENA_TRY_STATUS(make_folders(state.state_dir, state.first_id));
  HARENA_TRY(UniqueFd listening, listen_at(state.run_dir, state.endpoint));
  std::vector<int> fds = {groups.v2.get(), platform.fd(), listening.get(), engine.seccomp.get()};
  for (const auto& mount : granted.mounts) fds.push_back(mount.get());
  for (const auto& tasks : groups.v1_tasks) fds.push_back(tasks.get());
  HARENA_TRY(auto made, engine.launcher->create(launcher_request(id, request, parameters, granted, layers, state.first_id), layers, fds, [&call] { return call.check(); }));
  state.shim = made.shim;
  state.init = made.init;
  for (const auto& layer : layers) state.layers.push_back(layer.digest);
  {
    std::lock_guard lock(mutex_);
    records_[id] = Record{false, state.first_id, state};
  }
  HARENA_TRY_STATUS(call.check());
  HARENA_TRY(UniqueFd shim, open_process(state.shim));
  HARENA_TRY_STATUS(engine.watcher->watch(id, std::move(shim)));
  return json{{"state", state.encode()},
              {"session_endpoint", state.endpoint},
              {"details", {{"init_pid", state.init.pid},
                {"first_id", state.first_id},
                {"user", parameters.user.empty() ? image_user(request) : parameters.user},
                {"missing_limits", groups.missing},
                {"stages_us", made.stages}}}};
}

void ContainerBackend::tell_uses(const std::string& id, const Granted& granted) const {
  for (const auto& use : granted.uses) {
    host_.warning("sandbox " + id + " is weaker by an allowance of the operator: " + use);
    host_.event({{"type", "sandbox_weakened"}, {"sandbox_id", id}, {"detail", use}});
  }
}

Status ContainerBackend::remove(Engine& engine, const std::string& id, std::int64_t grace_ms) {
  const auto record = record_of(id);
  engine.watcher->forget(id);
  const std::int64_t deadline = monotonic_now_ns() + kRemovePatienceNs;
  if (auto group = engine.cgroups.open_sandbox(id); group.ok()) {
    HARENA_TRY_STATUS(write_file_at(group->fd(), "cgroup.freeze", "0"));
    if (grace_ms > 0) ask_to_end(*group, record ? record->state.init.pid : 0, grace_ms);
  }
  HARENA_TRY_STATUS(engine.cgroups.remove_sandbox(id, deadline));
  if (auto platform = engine.cgroups.open_platform(id); platform.ok()) {
    auto pids = platform->processes();
    for (pid_t pid : pids.ok() ? *pids : std::vector<pid_t>{}) ::kill(pid, SIGTERM);
    (void)platform->wait_empty(monotonic_now_ns() + kShimPatienceNs);
  }
  HARENA_TRY_STATUS(engine.cgroups.remove_platform(id, deadline));
  // A builder that was killed before its init had joined a group can't have left one: init is born in its group.
  if (!record) return {};
  if (!record->state.state_dir.empty()) {
    ::unlink(record->state.endpoint.c_str());
    auto state_dir = open_directory(AT_FDCWD, record->state.state_dir);
    for (const char* name : {"u", "w", "session"}) {
      if (state_dir.ok()) HARENA_TRY_STATUS(remove_tree_at(state_dir->get(), name));
    }
  }
  if (!record->state.layers.empty()) engine.launcher->release_layers(record->state.layers);
  if (record->first_id != 0) ids_.release(record->first_id);
  std::lock_guard lock(mutex_);
  records_.erase(id);
  return {};
}

Status ContainerBackend::stop(const Call&, std::string_view sandbox_id, std::int64_t grace_ms) {
  HARENA_TRY_STATUS(check_id(sandbox_id));
  HARENA_TRY(Engine* engine, this->engine());
  constexpr std::int64_t kMostGraceMs = 600'000;
  auto removed = remove(*engine, std::string(sandbox_id), std::clamp<std::int64_t>(grace_ms, 0, kMostGraceMs));
  if (!removed.ok()) return infrastructure(std::move(removed).error(), "container");
  return {};
}

Status ContainerBackend::adopt(Engine& engine, const std::string& id, const SandboxState& state) {
  if (state.boot.empty()) return make_error(ErrorCode::not_found, "its creation was interrupted");
  HARENA_TRY(std::string boot, boot_id());
  if (boot != state.boot) return make_error(ErrorCode::not_found, "the machine was restarted");
  HARENA_TRY(UniqueFd shim, open_process(state.shim));
  HARENA_TRY(UniqueFd init, open_process(state.init));
  HARENA_TRY(auto group, engine.cgroups.open_sandbox(id));
  {
    std::lock_guard lock(mutex_);
    if (records_.count(id) != 0) return {};  // known already: recover is idempotent
    // A range outside of the pool is of an earlier configuration: nobody else gets it from here.
    auto held = ids_.acquire_exactly(state.first_id);
    if (!held.ok() && held.error().code != ErrorCode::out_of_range) return held;
    records_[id] = Record{false, state.first_id, state};
  }
  engine.launcher->retain_layers(state.layers);
  return engine.watcher->watch(id, std::move(shim));
}

Result<json> ContainerBackend::give_up(Engine& engine, const std::string& id, SandboxState state, const Error& why) {
  // What is half dead is of no use to anybody; what is left of it (its groups, its upper) goes with it.
  state.layers.clear();
  const Ending ending = ending_of(state, why.message);
  {
    std::lock_guard lock(mutex_);
    records_.emplace(id, Record{false, 0, std::move(state)});
  }
  HARENA_TRY_STATUS(remove(engine, id, 0));
  return json{{"status", "gone"}, {"cause", to_string(ending.cause)}, {"detail", ending.detail}};
}

Result<json> ContainerBackend::recover(const Call&, std::string_view sandbox_id, std::string_view text) {
  const std::string id(sandbox_id);
  HARENA_TRY_STATUS(check_id(id));
  HARENA_TRY(Engine* engine, this->engine());
  // Without a state its create never ended: whatever there is of it is half-made.
  SandboxState state;
  if (const auto record = record_of(id); record && !record->creating) {
    state = record->state;
  } else if (!text.empty()) {
    HARENA_TRY(state, SandboxState::decode(text));
  }
  auto adopted = adopt(*engine, id, state);
  if (!adopted.ok()) return give_up(*engine, id, state, adopted.error());
  HARENA_TRY(auto group, engine->cgroups.open_sandbox(id));
  HARENA_TRY(bool frozen, group.frozen());
  return json{{"status", frozen ? "paused" : "running"}, {"session_endpoint", state.endpoint}};
}

Result<json> ContainerBackend::sweep(const Call&, const std::vector<std::string>& known_ids) {
  HARENA_TRY(Engine* engine, this->engine());
  HARENA_TRY(auto found, engine->cgroups.sandboxes());
  HARENA_TRY(auto platforms, engine->cgroups.platforms());
  found.merge(platforms);
  found.erase("launcher");
  for (const auto& id : known_ids) found.erase(id);
  json removed = json::array();
  for (const auto& id : found) {
    if (!check_id(id).ok()) continue;  // not a name that we give
    if (auto record = record_of(id); record && record->creating) continue;
    HARENA_TRY_STATUS(remove(*engine, id, 0));
    removed.push_back(id);
  }
  // Launchers of an earlier life end by themselves when their daemon does; one that hangs is ended here.
  if (auto group = engine->cgroups.open_platform("launcher"); group.ok()) {
    HARENA_TRY(auto pids, group->processes());
    for (pid_t pid : pids) {
      if (pid != engine->launcher->pid()) ::kill(pid, SIGKILL);
    }
  }
  return json{{"removed", removed}};
}

Result<CgroupGroup> ContainerBackend::group_of(Engine& engine, std::string_view id) const {
  HARENA_TRY_STATUS(check_id(id));
  if (!record_of(std::string(id))) return unknown(id);
  auto group = engine.cgroups.open_sandbox(std::string(id));
  if (!group.ok()) return unknown(id);
  return group;
}

Result<json> ContainerBackend::usage(const Call&, std::string_view sandbox_id) {
  HARENA_TRY(Engine* engine, this->engine());
  HARENA_TRY(auto group, group_of(*engine, sandbox_id));
  HARENA_TRY(auto usage, engine->cgroups.usage(std::string(sandbox_id)));
  json document = json::object();
  auto put = [&document](const char* key, const std::optional<std::int64_t>& value) {
    if (value) document[key] = *value;
  };
  put("cpu_ns", usage.cpu_ns);
  put("cpu_throttled_ns", usage.cpu_throttled_ns);
  put("memory_bytes", usage.memory_bytes);
  put("memory_peak_bytes", usage.memory_peak_bytes);
  if (usage.pids) document["pids"] = std::max<std::int64_t>(0, *usage.pids - kOwnPids);
  put("oom_kills", usage.oom_kills);
  return document;
}

Result<json> ContainerBackend::pause(const Call& call, std::string_view sandbox_id) {
  HARENA_TRY(Engine* engine, this->engine());
  HARENA_TRY(auto group, group_of(*engine, sandbox_id));
  HARENA_TRY_STATUS(group.freeze(deadline_of(call, kFreezePatienceNs)));
  return json{{"kept", "memory"}};
}

Result<json> ContainerBackend::resume(const Call& call, std::string_view sandbox_id) {
  HARENA_TRY(Engine* engine, this->engine());
  HARENA_TRY(auto group, group_of(*engine, sandbox_id));
  HARENA_TRY_STATUS(group.thaw(deadline_of(call, kFreezePatienceNs)));
  return json{{"kept", "memory"}};
}

void ContainerBackend::on_exit(const std::string& id) {
  const auto record = record_of(id);
  if (!record) return;
  const Ending ending = ending_of(record->state, "shim");
  host_.sandbox_exited(id, ending.cause, ending.detail);
}

}  // namespace harena::container

HARENA_PLUGIN(harena::container::ContainerBackend)
