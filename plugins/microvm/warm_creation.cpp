// create from templates: machines that have booted before, and those that stand by with their memory loaded.

#include <fcntl.h>

#include <cerrno>
#include <filesystem>

#include "plugins/microvm/backend.hpp"
#include "plugins/microvm/errors.hpp"
#include "plugins/microvm/start_command.hpp"
#include "plugins/microvm/template_key.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/support/files.hpp"
#include "sdk/vmm/machine_end.hpp"

namespace harena::microvm {
namespace {

namespace fs = std::filesystem;

constexpr int kRunsAhead = 3;
constexpr std::int64_t kTemplatePatienceMs = 180'000;
constexpr std::int64_t kHiddenEndPatienceNs = 20'000'000'000;

Status make_folders(std::initializer_list<std::string> paths) {
  for (const auto& path : paths) {
    std::error_code failed;
    fs::create_directories(path, failed);
    if (failed) return errno_error(failed.value(), "making " + path);
    fs::permissions(path, fs::perms::owner_all, failed);
  }
  return {};
}

Status remove_folder(const std::string& path) {
  const fs::path whole(path);
  auto parent = open_directory(AT_FDCWD, whole.parent_path());
  return parent.ok() ? remove_tree_at(parent->get(), whole.filename()) : Status();
}

Status move_entry(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  return errno_error(errno, "moving " + from + " to " + to);
}

/// STATE of STATE/sandboxes/ID.
std::string above_sandboxes(const std::string& folder) { return fs::path(folder).parent_path().parent_path(); }

Result<std::string> path_of(int fd) {
  std::error_code failed;
  const auto path = fs::read_symlink("/proc/self/fd/" + std::to_string(fd), failed);
  if (failed) return errno_error(failed.value(), "looking at a cgroup's file");
  return path.string();
}

/// Whether a create that failed like this would fail without the template too.
bool is_callers(const Error& error) {
  return error.code == ErrorCode::cancelled || error.code == ErrorCode::deadline_exceeded || error.code == ErrorCode::already_exists ||
         error.code == ErrorCode::invalid_argument || error.code == ErrorCode::resource_exhausted;
}

}  // namespace

Result<MicrovmBackend::Warmth*> MicrovmBackend::warmth(const json& request) {
  HARENA_TRY(Engine* engine, this->engine());
  std::lock_guard lock(engine_mutex_);
  if (warmth_) return warmth_.get();
  auto made = std::make_unique<Warmth>();
  made->home = settings_.memory_dir.empty() ? above_sandboxes(request.at("state_dir")) + "/microvm" : settings_.memory_dir + "/" + settings_.instance;
  made->run = above_sandboxes(request.at("run_dir")) + "/microvm";
  // Whatever a daemon that died had here belongs to nobody: its machines ended with it.
  for (const auto& left : {made->home + "/hidden", made->run}) HARENA_TRY_STATUS(remove_folder(left));
  HARENA_TRY_STATUS(make_folders({made->home, made->home + "/hidden", made->run}));
  HARENA_TRY(made->store, TemplateStore::open(made->home + "/templates", settings_.templates_most));
  Warmth& warmth = *made;
  Warmer::Work work;
  work.make_template = [this, engine, &warmth](const TemplateOrder& order, const Warmer::Check& check) {
    return make_template(*engine, warmth, order, check);
  };
  work.make_spare = [this, engine, &warmth](const TemplateOrder& order, const std::string& name, const Warmer::Check& check) {
    return make_spare(*engine, warmth, order, name, check);
  };
  work.end_spare = [this, engine, &warmth](Spare spare) { end_spare(*engine, warmth, std::move(spare)); };
  work.warn = [this](const std::string& problem) { host_.warning(problem); };
  made->warmer = std::make_unique<Warmer>(std::move(work), Warmer::Limits{settings_.ahead, std::chrono::seconds(settings_.ahead_idle_s)});
  warmth_ = std::move(made);
  return warmth_.get();
}

bool MicrovmBackend::is_warm(const std::string& name) {
  std::lock_guard lock(engine_mutex_);
  return warmth_ && warmth_->warmer->owns(name);
}

Result<TemplateOrder> MicrovmBackend::order_of(const json& request, const Parameters& parameters) {
  HARENA_TRY(Engine* engine, this->engine());
  HARENA_TRY(const auto config, machine_config(*engine, request, parameters, SandboxState(), {}));
  return TemplateOrder{template_key(config, start_of(request, parameters)), request, parameters};
}

Result<json> MicrovmBackend::create_warm(const Call& call, const json& request, const Parameters& parameters) {
  auto ready = warmth(request);
  if (!ready.ok()) return of_this_host(std::move(ready).error());
  Warmth& warm = **ready;
  HARENA_TRY(auto order, order_of(request, parameters));
  const Warmer::Serving serving(*warm.warmer);
  auto folder = warm.store->find(order.key);
  if (!folder && parameters.templates == TemplateUse::make) {
    auto made = make_template(**engine(), warm, order, [&call] { return call.check(); });
    if (!made.ok()) return of_this_host(std::move(made).error().during("making the template"));
    folder = warm.store->find(order.key);
  }
  if (folder) {
    auto spare = warm.warmer->take(order.key);
    const std::string hidden = spare ? spare->name : std::string();
    const bool ahead = spare.has_value();
    auto made = create_from(call, request, {.folder = *folder, .spare = std::move(spare)});
    if (ahead) {
      // Of one that became the sandbox only folders are left; its groups have the spare's name for ever.
      if (made.ok()) (void)remove_hidden_folders(warm, hidden);
      if (!made.ok()) (void)remove_hidden(**engine(), warm, hidden, {}, 0);
      if (!made.ok() && !is_callers(made.error())) made = create_from(call, request, {.folder = *folder});
    }
    if (made.ok()) {
      (*made)["details"]["start"]["template"] = order.key;
      (*made)["details"]["start"]["ahead"] = ahead;
      warm.warmer->was_used(std::move(order));
      return made;
    }
    if (is_callers(made.error())) return made;
    host_.warning("a template of a microVM doesn't start and is thrown away: " + made.error().describe());
    warm.warmer->forget(order.key);
    warm.store->discard(order.key);
  }
  auto made = create_from(call, request, {});
  if (made.ok()) warm.warmer->want(std::move(order));
  return made;
}

Status MicrovmBackend::make_template(Engine& engine, Warmth& warmth, const TemplateOrder& order, const std::function<Status()>& check) {
  std::lock_guard one_at_a_time(warmth.making);
  if (warmth.store->find(order.key)) return {};
  const std::string name = warmth.warmer->next_name();
  SandboxState state;
  state.run_dir = warmth.run + "/" + name;
  state.state_dir = warmth.home + "/hidden/" + name;
  state.vm_dir = state.state_dir + "/vm";
  HARENA_TRY(state.uid, users_.acquire());
  const Status made = boot_template(engine, warmth, order, state, name, check);
  const Status removed = remove_hidden(engine, warmth, name, {}, state.uid);
  HARENA_TRY_STATUS(made);
  fault_point("microvm.template.made");
  HARENA_TRY_STATUS(warmth.store->keep(order.key));
  return removed;
}

Status MicrovmBackend::boot_template(Engine& engine, Warmth& warmth, const TemplateOrder& order, const SandboxState& state,
                                     const std::string& name, const std::function<Status()>& check) {
  HARENA_TRY_STATUS(make_folders({state.run_dir, state.run_dir + "/jail", state.state_dir, state.vm_dir}));
  HARENA_TRY(auto config, machine_config(engine, order.request, order.parameters, state, {}));
  config.sandbox = name;
  config.hostname = "template";
  config.tied = true;
  HARENA_TRY(const auto groups, make_groups(engine, name, order.parameters));
  std::vector<int> joins;
  for (const auto& file : groups.joins) joins.push_back(file.get());
  // Its lifeline is held until the image is taken.
  HARENA_TRY(const auto started, start_machine(settings_.machine_path, config, groups.platform.get(), joins, check));
  fault_point("microvm.template.booted");
  HARENA_TRY_STATUS(run_start_command(state.endpoint(), start_of(order.request, order.parameters), check));
  run_nothing(state.endpoint());
  // Paused first: its RAM file is the image's then, and nothing has to go on.
  HARENA_TRY_STATUS(ask_machine(state.run_dir, {{"verb", "pause"}}, kTemplatePatienceMs));
  HARENA_TRY(const std::string folder, warmth.store->begin(order.key));
  HARENA_TRY_STATUS(ask_machine(state.run_dir, {{"verb", "snapshot"}, {"folder", folder}}, kTemplatePatienceMs));
  return {};
}

Result<Spare> MicrovmBackend::make_spare(Engine& engine, Warmth& warmth, const TemplateOrder& order, const std::string& name,
                                         const std::function<Status()>& check) {
  const auto folder = warmth.store->find(order.key);
  if (!folder) return make_error(ErrorCode::not_found, "its template is gone");
  SandboxState state;
  state.run_dir = warmth.run + "/" + name;
  state.state_dir = warmth.home + "/hidden/" + name;
  state.vm_dir = state.state_dir + "/vm";
  HARENA_TRY(state.uid, users_.acquire());
  auto made = [&]() -> Result<Spare> {
    HARENA_TRY_STATUS(make_folders({state.run_dir, state.run_dir + "/jail", state.state_dir, state.vm_dir}));
    HARENA_TRY(auto config, machine_config(engine, order.request, order.parameters, state, *folder));
    config.sandbox = name;
    config.hostname = "standby";
    config.tied = true;
    config.standby = true;
    HARENA_TRY(const auto blank, engine.cgroups.make_blank(name));
    UniqueFd platform(::openat(blank.platform.fd(), "cgroup.procs", O_WRONLY | O_CLOEXEC));
    UniqueFd sandbox(::openat(blank.sandbox.fd(), "cgroup.procs", O_WRONLY | O_CLOEXEC));
    if (!platform || !sandbox) return errno_error(errno, "opening cgroup.procs");
    HARENA_TRY(auto started, start_machine(settings_.machine_path, config, platform.get(), {sandbox.get()}, check));
    // What a first command costs is the platform's own code, not yet translated (TCG) or not yet in its pages: that is run here.
    for (int i = 0; i < kRunsAhead; ++i) run_nothing(state.endpoint());
    HARENA_TRY_STATUS(ask_machine(state.run_dir, {{"verb", "stand_by"}}, kTemplatePatienceMs));
    return Spare{name, order.key, state.vm_dir, state.run_dir, started.process, std::move(started.lifeline), state.uid};
  }();
  if (!made.ok()) (void)remove_hidden(engine, warmth, name, {}, state.uid);
  return made;
}

void MicrovmBackend::end_spare(Engine& engine, Warmth& warmth, Spare spare) {
  if (Status removed = remove_hidden(engine, warmth, spare.name, spare.process, spare.uid); !removed.ok()) {
    host_.warning("a microVM that stood by couldn't be removed: " + removed.error().describe());
  }
}

Status MicrovmBackend::remove_hidden(Engine& engine, Warmth& warmth, const std::string& name, const ProcessRef& process, std::uint32_t uid) {
  const std::int64_t deadline = monotonic_now_ns() + kHiddenEndPatienceNs;
  HARENA_TRY_STATUS(vmm::end_machine_process(engine.cgroups, name, process, deadline));
  HARENA_TRY_STATUS(engine.cgroups.remove_sandbox(name, deadline));
  if (uid != 0) users_.release(uid);
  return remove_hidden_folders(warmth, name);
}

Status MicrovmBackend::remove_hidden_folders(const Warmth& warmth, const std::string& name) {
  HARENA_TRY_STATUS(remove_folder(warmth.run + "/" + name));
  return remove_folder(warmth.home + "/hidden/" + name);
}

Result<StartedMachine> MicrovmBackend::claim_spare(Engine& engine, MachineConfig config, const Parameters& parameters, Spare& spare,
                                                   std::vector<std::string>& missing) {
  HARENA_TRY(auto groups, engine.cgroups.adopt_blank(spare.name, config.sandbox, limits_of(parameters), settings_.allow_missing_limits));
  missing = std::move(groups.missing);
  HARENA_TRY_STATUS(move_entry(spare.vm_dir, config.vm_dir));
  for (const char* name : {"/machine.sock", "/session.sock"}) HARENA_TRY_STATUS(move_entry(spare.run_dir + name, config.run_dir + name));
  fault_point("microvm.claim.moved");
  HARENA_TRY(const std::string v2, path_of(groups.v2.get()));
  config.groups.push_back(v2 + "/cgroup.procs");
  for (const auto& tasks : groups.v1_tasks) {
    HARENA_TRY(config.groups.emplace_back(), path_of(tasks.get()));
  }
  HARENA_TRY(const std::string file, write_machine_config(config));
  HARENA_TRY(json told, ask_machine(config.run_dir, {{"verb", "claim"}, {"config", file}}, kTemplatePatienceMs));
  fault_point("microvm.claim.done");
  return StartedMachine{spare.process, std::move(told), {}};
}

}  // namespace harena::microvm
