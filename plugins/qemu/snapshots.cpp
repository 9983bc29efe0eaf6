// snapshot, restore, fork and rollback: folders with second names of a machine's disks (machine/machine_snapshot.hpp), and machines
// that go on
// from copies of them.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <thread>

#include "plugins/qemu/backend.hpp"
#include "plugins/qemu/errors.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/support/files.hpp"
#include "sdk/vmm/control_client.hpp"
#include "sdk/vmm/control_server.hpp"

namespace harena::qemu {
namespace {

constexpr int kStateVersion = 1;
constexpr const char* kForkTag = "fork";
/// Children that start at once: most of it is waiting for their memory.
constexpr std::size_t kForkWorkers = 4;

std::string encode_snapshot(const std::string& folder) { return json{{"qemu_snapshot", kStateVersion}, {"folder", folder}}.dump(); }

Result<std::string> decode_snapshot(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  const bool good = document.is_object() && document.value("qemu_snapshot", json()) == kStateVersion && document.contains("folder") &&
                    document["folder"].is_string();
  if (good) return document["folder"].get<std::string>();
  return make_error(ErrorCode::invalid_argument,
                    "the state of a snapshot isn't one of this backend's (version " + std::to_string(kStateVersion) + ")");
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat first{}, second{};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
      first.st_ino == second.st_ino;
}

json with_error(Result<json> made) { return made.ok() ? *std::move(made) : json{{"error", vmm::control_error(made.error())}}; }

}  // namespace

Result<json> QemuBackend::snapshot(const Call&, std::string_view sandbox_id, const json& request) {
  const auto folder = request.at("dir").get<std::string>();
  const json verb = {{"verb", "snapshot"}, {"tag", request.at("snapshot_id")}, {"folder", folder}};
  HARENA_TRY(json told, ask(std::string(sandbox_id), verb, kKeepPatienceMs));
  fault_point("qemu.snapshot.taken");
  told["state"] = encode_snapshot(folder);
  told["kept"] = "memory";
  return told;
}

Status QemuBackend::rollback(const Call&, std::string_view sandbox_id, std::string_view snapshot_state) {
  HARENA_TRY(const auto folder, decode_snapshot(snapshot_state));
  HARENA_TRY_STATUS(ask(std::string(sandbox_id), {{"verb", "rollback"}, {"folder", folder}}, kKeepPatienceMs));
  return {};
}

Result<json> QemuBackend::restore(const Call& call, const json& request) {
  HARENA_TRY(const auto folder, decode_snapshot(request.at("snapshot_state").get<std::string>()));
  return create_from(call, request, Origin{folder, true});
}

Status QemuBackend::bring_files(const MachineSnapshot& snapshot, const std::string& folder, const std::string& to) {
  const auto source = record_of(snapshot.config.sandbox);
  const std::string disk = disk_file(snapshot.config, 0);
  if (source && !source->creating && same_file(source->state.vm_dir + "/" + disk, folder + "/" + disk)) {
    // Somebody writes to these files: only they know when they are whole.
    auto copied = ask(snapshot.config.sandbox, {{"verb", "copy_files"}, {"folder", folder}, {"to", to}}, kKeepPatienceMs);
    if (copied.ok()) return {};
    if (goes_on(source->state.machine)) return std::move(copied).error();
  }
  return copy_snapshot_files(snapshot, folder, to);
}

/// `stop` of what is no sandbox: a snapshot whose folder is gone. Every machine whose disks hold it lets go of it.
Status QemuBackend::forget_snapshot(const std::string& snapshot_id) {
  std::vector<std::string> holders;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, record] : records_) {
      const std::string tag = record.state.vm_dir + "/" + kTagsFolder + "/" + snapshot_id;
      if (!record.creating && ::access(tag.c_str(), F_OK) == 0) holders.push_back(id);
    }
  }
  for (const auto& id : holders) {
    const auto record = record_of(id);
    auto told = ask(id, {{"verb", "forget_snapshot"}, {"tag", snapshot_id}}, kKeepPatienceMs);
    if (!told.ok() && record && goes_on(record->state.machine)) return std::move(told).error();
  }
  return {};
}

Status QemuBackend::drop_fork(const std::string& id, const SandboxState& state) {
  HARENA_TRY(UniqueFd folder, open_directory(AT_FDCWD, state.vm_dir));
  if (::faccessat(folder.get(), kForkTag, F_OK, AT_SYMLINK_NOFOLLOW) != 0 &&
      ::access((state.vm_dir + "/" + kTagsFolder + "/" + kForkTag).c_str(), F_OK) != 0) {
    return {};
  }
  HARENA_TRY_STATUS(remove_tree_at(folder.get(), kForkTag));
  HARENA_TRY_STATUS(ask(id, {{"verb", "forget_snapshot"}, {"tag", kForkTag}}, kKeepPatienceMs));
  return {};
}

json QemuBackend::fork_children(const Call& call, const json& requests, const std::string& folder) {
  std::vector<json> results(requests.size());
  std::atomic<std::size_t> next{0};
  auto work = [&] {
    for (std::size_t i; (i = next++) < requests.size();) results[i] = with_error(create_from(call, requests[i], Origin{folder, false}));
  };
  std::vector<std::thread> workers;
  for (std::size_t i = 1; i < std::min(kForkWorkers, requests.size()); ++i) workers.emplace_back(work);
  work();
  for (auto& worker : workers) worker.join();
  return json(std::move(results));
}

Result<json> QemuBackend::fork(const Call& call, std::string_view sandbox_id, const json& requests) {
  const std::string id(sandbox_id);
  HARENA_TRY_STATUS(check_id(id));
  const auto record = record_of(id);
  if (!record || record->creating) return unknown_sandbox(id);
  if (requests.empty()) return json::array();
  HARENA_TRY_STATUS(drop_fork(id, record->state));
  const std::string folder = record->state.vm_dir + "/" + kForkTag;
  if (::mkdir(folder.c_str(), 0700) != 0) return errno_error(errno, "making " + folder);
  auto frozen = ask(id, {{"verb", "snapshot"}, {"tag", kForkTag}, {"folder", folder}}, kKeepPatienceMs);
  fault_point("qemu.fork.frozen");
  json children = frozen.ok() ? fork_children(call, requests, folder) : json();
  const Status dropped = drop_fork(id, record->state);
  if (!frozen.ok()) return of_this_host(std::move(frozen).error().during("freezing the source"));
  if (!dropped.ok()) host_.warning("the snapshot of a fork stays in the disks of " + id + ": " + dropped.error().describe());
  return children;
}

}  // namespace harena::qemu
