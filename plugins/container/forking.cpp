// fork, snapshot, restore and rollback: what a sandbox wrote becomes a layer that others share.

#include <fcntl.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <future>
#include <thread>

#include "plugins/container/backend.hpp"
#include "plugins/container/backend_errors.hpp"
#include "plugins/container/entry_attributes.hpp"
#include "plugins/container/own_disk.hpp"
#include "plugins/container/sandbox_folders.hpp"
#include "plugins/container/standstill.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/support/files.hpp"

namespace harena::container {
namespace {

constexpr std::int64_t kPatienceNs = 10'000'000'000;
/// Children that are made at once: most of a create is waiting for the kernel's locks.
constexpr std::size_t kForkWorkers = 4;
constexpr int kSnapshotVersion = 1;

std::int64_t patience() { return monotonic_now_ns() + kPatienceNs; }

std::string encode_snapshot(const std::vector<FrozenLayer>& layers) {
  return json{{"container_snapshot", kSnapshotVersion}, {"layers", to_json(layers)}}.dump();
}

Result<std::vector<FrozenLayer>> decode_snapshot(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object() || document.value("container_snapshot", json()) != kSnapshotVersion) {
    return make_error(ErrorCode::invalid_argument, "the state of a snapshot isn't one of this backend's (version " +
                                                       std::to_string(kSnapshotVersion) + ")");
  }
  try {
    return frozen_from_json(document.at("layers"));
  } catch (const json::exception& e) {
    return make_error(ErrorCode::invalid_argument, std::string("the state of a snapshot can't be read: ") + e.what());
  }
}

json error_document(const Error& error) {
  std::string message;
  for (auto it = error.context.rbegin(); it != error.context.rend(); ++it) message += *it + ": ";
  return {{"error", {{"code", to_string(error.code)}, {"message", message + error.message}, {"cause", to_string(error.cause)},
                     {"cause_detail", error.cause_detail}, {"retry", to_string(error.retry)}}}};
}

}  // namespace

LayerStore& ContainerBackend::layers_beside(const std::string& state_dir) {
  const std::string folder = LayerStore::folder_for(state_dir);
  std::lock_guard lock(mutex_);
  auto& store = layer_stores_[folder];
  if (store) return *store;
  store = std::make_unique<LayerStore>(folder);
  spread_folders_in(std::filesystem::path(folder).parent_path().string());
  // Of blanks before a reboot, which left no groups to find them by.
  (void)remove_stages_of_others(stages_beside(state_dir), engine_->pool->prefix());
  std::set<std::string> alive = known_;
  for (const auto& [id, record] : records_) alive.insert(id);
  // Before the first sweep nobody knows yet who lives.
  if (swept_) (void)store->collect(alive);
  return *store;
}

Status ContainerBackend::lay_frozen(const std::string& id, const SandboxState& state, const std::vector<FrozenLayer>& frozen,
                                    SandboxRequest& wanted) {
  auto& layers = layers_beside(state.state_dir);
  RootRecord record;
  record.now.frozen = frozen;
  HARENA_TRY_STATUS(record.write(state.state_dir));
  fault_point("fork.written");
  HARENA_TRY_STATUS(layers.add_user(frozen, id));
  fault_point("fork.used");
  wanted.frozen = layers.entries(frozen);
  if (wanted.disk) return {};
  const auto& top = frozen.back();
  HARENA_TRY(UniqueFd model, open_directory(AT_FDCWD, layers.tree(top.id)));
  HARENA_TRY(UniqueFd upper, open_directory(AT_FDCWD, state.state_dir + "/" + record.now.upper));
  return copy_attributes(model.get(), upper.get(), ".", {top.first_id, state.first_id});
}

Result<ContainerBackend::FrozenSource> ContainerBackend::copy_source(const Call& call, const SandboxState& state, const RootChange& root,
                                                                     const std::string& pin) {
  auto& layers = layers_beside(state.state_dir);
  const auto& now = root.record().now;
  LayerSource source{root.upper_path(), state.first_id, false};
  UniqueFd disk;
  if (state.disk_bytes > 0) {
    HARENA_TRY(disk, mount_of_disk(state, now));
    source.path = "/proc/self/fd/" + std::to_string(disk.get()) + "/" + now.upper;
  }
  HARENA_TRY(const auto made, make_layer(layers, {source}, state.first_id, pin, [&call] { return call.check(); }));
  HARENA_TRY_STATUS(layers.add_user(now.frozen, pin));
  FrozenSource result{now.frozen, "copied", made.copied_bytes};
  result.layers.push_back(made.layer);
  return result;
}

Result<ContainerBackend::FrozenSource> ContainerBackend::freeze_source(const Call& call, Engine& engine, const std::string& id,
                                                                       const std::string& pin) {
  HARENA_TRY_STATUS(check_id(id));
  const auto record = record_of(id);
  if (!record || record->creating || record->ended) return unknown_sandbox(id);
  const SandboxState& state = record->state;
  auto& layers = layers_beside(state.state_dir);
  HARENA_TRY(auto group, engine.cgroups.open_sandbox(id));
  HARENA_TRY(const auto still, Standstill::begin(std::move(group), state.state_dir));
  HARENA_TRY(const bool idle, still.only(state.init.pid));
  if (!idle) HARENA_TRY_STATUS(still.settle(patience()));
  RootChange root(*engine.launcher, layers, *engine.remains, id, state);
  HARENA_TRY_STATUS(root.load());
  if (state.disk_bytes > 0) return copy_source(call, state, root, pin);
  HARENA_TRY(const bool unchanged, root.unchanged());
  if (unchanged) {
    HARENA_TRY_STATUS(layers.add_user(root.record().now.frozen, pin));
    return FrozenSource{root.record().now.frozen, "shared", 0};
  }
  if (!idle || state.layer_paths.empty() || engine.disks->counted({state.state_dir, state.first_id})) return copy_source(call, state, root, pin);
  HARENA_TRY_STATUS(root.freeze(pin, [&call] { return call.check(); }));
  HARENA_TRY_STATUS(layers.add_user(root.record().now.frozen, pin));
  return FrozenSource{root.record().now.frozen, "frozen", 0};
}

Result<json> ContainerBackend::fork_child(const Call& call, const FreezingSource& source, const json& request) {
  const auto layers = [&source]() -> Result<std::vector<FrozenLayer>> {
    const auto& frozen = source.get();
    return frozen.ok() ? Result(frozen->layers) : Result<std::vector<FrozenLayer>>(frozen.error());
  };
  HARENA_TRY(auto made, create_on(call, request, layers));
  const auto& frozen = source.get();
  made["details"]["fork"] = {{"how", frozen->how}, {"copied_bytes", frozen->copied_bytes}};
  return made;
}

Result<json> ContainerBackend::fork_children(const Call& call, const FreezingSource& source, const json& requests) {
  std::vector<json> results(requests.size());
  std::atomic<std::size_t> next{0};
  auto work = [&] {
    for (std::size_t i; (i = next++) < requests.size();) {
      auto made = fork_child(call, source, requests[i]);
      results[i] = made.ok() ? std::move(*made) : error_document(made.error());
    }
  };
  std::vector<std::thread> workers;
  for (std::size_t i = 1; i < std::min(kForkWorkers, requests.size()); ++i) workers.emplace_back(work);
  work();
  for (auto& worker : workers) worker.join();
  return json(std::move(results));
}

Result<json> ContainerBackend::fork(const Call& call, std::string_view sandbox_id, const json& requests) {
  const std::string id(sandbox_id);
  HARENA_TRY_STATUS(check_id(id));
  HARENA_TRY(Engine* engine, this->engine());
  const auto record = record_of(id);
  if (!record || record->creating || record->ended) return unknown_sandbox(id);
  if (requests.empty()) return json::array();
  const LayerStore::Pin pin(layers_beside(record->state.state_dir));
  // Beside the first half of the children, which needs nothing of the source yet.
  const FreezingSource source = std::async(std::launch::async, [&] {
    auto frozen = freeze_source(call, *engine, id, pin.name());
    fault_point("fork.frozen");
    return frozen;
  });
  HARENA_TRY(auto children, fork_children(call, source, requests));
  if (auto frozen = source.get(); !frozen.ok()) return infrastructure(std::move(frozen).error().during("freezing the source"), "container");
  return children;
}

Result<json> ContainerBackend::snapshot(const Call& call, std::string_view sandbox_id, const json& request) {
  const std::string id(sandbox_id);
  HARENA_TRY_STATUS(check_id(id));
  const auto name = request.at("snapshot_id").get<std::string>();
  HARENA_TRY_STATUS(check_id(name));
  HARENA_TRY(Engine* engine, this->engine());
  const auto record = record_of(id);
  if (!record || record->creating || record->ended) return unknown_sandbox(id);
  auto& layers = layers_beside(record->state.state_dir);
  // First of all: what a sweep finds under this name belongs to a snapshot as long as its folder is there.
  HARENA_TRY_STATUS(layers.remember_snapshot(name, request.at("dir").get<std::string>()));
  auto source = freeze_source(call, *engine, id, name);
  fault_point("snapshot.frozen");
  // The sandbox goes on meanwhile. overlayfs is mounted volatile, so nobody else has written this down.
  const Status kept = source.ok() ? layers.sync() : Status(std::move(source).error());
  if (!kept.ok()) {
    (void)layers.drop_user(name);
    return infrastructure(kept.error(), "container");
  }
  fault_point("snapshot.synced");
  return json{{"state", encode_snapshot(source->layers)}, {"kept", "filesystem"}, {"how", source->how}, {"copied_bytes", source->copied_bytes}};
}

Result<json> ContainerBackend::restore(const Call& call, const json& request) {
  HARENA_TRY(const auto layers, decode_snapshot(request.at("snapshot_state").get<std::string>()));
  return create_on(call, request, [&layers] { return Result(layers); });
}

Status ContainerBackend::roll_back(const Call&, Engine& engine, const std::string& id, const std::vector<FrozenLayer>& layers) {
  const auto record = record_of(id);
  if (!record || record->creating || record->ended) return unknown_sandbox(id);
  const SandboxState& state = record->state;
  if (state.layer_paths.empty()) return make_error(ErrorCode::failed_precondition, "the sandbox was made by an older release");
  HARENA_TRY(auto group, engine.cgroups.open_sandbox(id));
  HARENA_TRY(const auto still, Standstill::begin(std::move(group), state.state_dir));
  RootChange root(*engine.launcher, layers_beside(state.state_dir), *engine.remains, id, state);
  HARENA_TRY_STATUS(root.load());
  UniqueFd disk;
  if (state.disk_bytes > 0) {
    HARENA_TRY(disk, engine.disks->make_image({state.state_dir, state.first_id}, state.disk_bytes, state.inodes));
    HARENA_TRY_STATUS(name_disk(disk.get(), state.state_dir, root.record().now.following()));
  }
  HARENA_TRY_STATUS(still.end_others(state.init.pid, patience()));
  fault_point("rollback.ended");
  return root.reset(layers, disk.get());
}

Status ContainerBackend::rollback(const Call& call, std::string_view sandbox_id, std::string_view snapshot_state) {
  const std::string id(sandbox_id);
  HARENA_TRY_STATUS(check_id(id));
  HARENA_TRY(const auto layers, decode_snapshot(snapshot_state));
  HARENA_TRY(Engine* engine, this->engine());
  auto done = roll_back(call, *engine, id, layers);
  return done.ok() ? Status() : Status(infrastructure(std::move(done).error(), "container"));
}

Status ContainerBackend::settle_root(Engine& engine, const std::string& id, const SandboxState& state) {
  HARENA_TRY(const auto record, RootRecord::read(state.state_dir));
  auto& layers = layers_beside(state.state_dir);
  if (!record.next) return {};
  // A process of the dead daemon's launcher might still be at it: it dies with the launcher, whose group this is.
  if (auto group = engine.cgroups.open_platform("launcher"); group.ok()) {
    HARENA_TRY(auto pids, group->processes());
    for (pid_t pid : pids) {
      if (pid != engine.launcher->pid()) ::kill(pid, SIGKILL);
    }
  }
  return RootChange(*engine.launcher, layers, *engine.remains, id, state).load();
}

Status ContainerBackend::forget_layers(const std::string& id, const SandboxState& state) {
  if (state.state_dir.empty()) return {};
  const auto record = RootRecord::read(state.state_dir);
  // Nobody can read what it used: every layer is looked at.
  if (!record.ok()) return layers_beside(state.state_dir).drop_user(id);
  auto used = record->now.frozen;
  if (record->next) used.insert(used.end(), record->next->to.frozen.begin(), record->next->to.frozen.end());
  return used.empty() ? Status() : layers_beside(state.state_dir).drop_user(used, id);
}

Status ContainerBackend::forget_user(const std::string& id) {
  std::vector<LayerStore*> stores;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [folder, store] : layer_stores_) stores.push_back(store.get());
  }
  for (auto* store : stores) HARENA_TRY_STATUS(store->drop_user(id));
  return {};
}

Status ContainerBackend::collect_layers(const std::vector<std::string>& known_ids) {
  std::vector<LayerStore*> stores;
  std::set<std::string> alive(known_ids.begin(), known_ids.end());
  {
    std::lock_guard lock(mutex_);
    known_ = alive;
    swept_ = true;
    for (const auto& [id, record] : records_) alive.insert(id);
    for (const auto& [folder, store] : layer_stores_) stores.push_back(store.get());
  }
  for (auto* store : stores) HARENA_TRY_STATUS(store->collect(alive));
  return {};
}

}  // namespace harena::container
