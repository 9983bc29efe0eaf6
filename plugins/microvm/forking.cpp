// snapshot, restore, fork and rollback: machine images (machine/machine_image.hpp) in folders, and machines that start from them.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "plugins/microvm/backend.hpp"
#include "plugins/microvm/clone_hooks.hpp"
#include "plugins/microvm/errors.hpp"
#include "plugins/microvm/image_digests.hpp"
#include "plugins/microvm/machine/machine_image.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/support/files.hpp"
#include "sdk/vmm/control_server.hpp"

namespace harena::microvm {
namespace {

constexpr int kSnapshotVersion = 1;
/// Children that start at once: most of it is waiting for their VMMs' first instructions.
constexpr std::size_t kForkWorkers = 4;

std::string encode_snapshot(const std::string& folder) { return json{{"microvm_snapshot", kSnapshotVersion}, {"folder", folder}}.dump(); }

Result<std::string> decode_snapshot(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  const bool good = document.is_object() && document.value("microvm_snapshot", json()) == kSnapshotVersion && document.contains("folder") &&
                    document["folder"].is_string();
  if (good) return document["folder"].get<std::string>();
  return make_error(ErrorCode::invalid_argument, "the state of a snapshot isn't one of this backend's (version " + std::to_string(kSnapshotVersion) + ")");
}

/// The image that a fork starts from: gone when its children have their own names for the files.
class ForkFolder {
 public:
  static Result<std::unique_ptr<ForkFolder>> make(const std::string& vm_dir) {
    const std::string path = vm_dir + "/fork";
    HARENA_TRY(UniqueFd parent, open_directory(AT_FDCWD, vm_dir));
    HARENA_TRY_STATUS(remove_tree_at(parent.get(), "fork"));  // of a daemon that died
    if (::mkdirat(parent.get(), "fork", 0700) != 0) return errno_error(errno, "making " + path);
    return std::unique_ptr<ForkFolder>(new ForkFolder(std::move(parent), path));
  }
  ~ForkFolder() { (void)remove_tree_at(parent_.get(), "fork"); }
  const std::string& path() const { return path_; }

 private:
  ForkFolder(UniqueFd parent, std::string path) : parent_(std::move(parent)), path_(std::move(path)) {}
  UniqueFd parent_;
  std::string path_;
};

}  // namespace

Result<json> MicrovmBackend::snapshot(const Call&, std::string_view sandbox_id, const json& request) {
  const auto folder = request.at("dir").get<std::string>();
  HARENA_TRY(json told, ask(std::string(sandbox_id), {{"verb", "snapshot"}, {"folder", folder}}));
  fault_point("microvm.snapshot.taken");
  sealer_.add(folder);
  told["state"] = encode_snapshot(folder);
  told["kept"] = "memory";
  return told;
}

Result<json> MicrovmBackend::restore(const Call& call, const json& request) {
  HARENA_TRY(const auto folder, decode_snapshot(request.at("snapshot_state").get<std::string>()));
  HARENA_TRY(const auto parameters, parse_parameters(request.value("params", json::object())));
  HARENA_TRY_STATUS(verify_snapshot(folder, parameters.verify_all));
  return create_from(call, request, {.folder = folder});
}

Status MicrovmBackend::verify_snapshot(const std::string& folder, bool all) {
  if (Status well = verify_image(folder, all ? Verify::all : Verify::changed); !well.ok()) {
    return of_this_host(std::move(well).error().during("checking the snapshot's files"));
  }
  // Its daemon was ended before it came to that.
  if (!is_sealed(folder)) sealer_.add(folder);
  return {};
}

Result<json> MicrovmBackend::fork_children(const Call& call, const json& requests, const std::string& from) {
  std::vector<json> results(requests.size());
  std::atomic<std::size_t> next{0};
  auto work = [&] {
    for (std::size_t i; (i = next++) < requests.size();) {
      auto made = create_from(call, requests[i], {.folder = from});
      results[i] = made.ok() ? std::move(*made) : json{{"error", vmm::control_error(made.error())}};
    }
  };
  std::vector<std::thread> workers;
  for (std::size_t i = 1; i < std::min(kForkWorkers, requests.size()); ++i) workers.emplace_back(work);
  work();
  for (auto& worker : workers) worker.join();
  return json(std::move(results));
}

Result<json> MicrovmBackend::fork(const Call& call, std::string_view sandbox_id, const json& requests) {
  const std::string id(sandbox_id);
  HARENA_TRY_STATUS(check_id(id));
  const auto record = record_of(id);
  if (!record || record->creating) return unknown_sandbox(id);
  if (requests.empty()) return json::array();
  HARENA_TRY(const auto folder, ForkFolder::make(record->state.vm_dir));
  auto told = ask(id, {{"verb", "snapshot"}, {"folder", folder->path()}});
  if (!told.ok()) return of_this_host(std::move(told).error().during("freezing the source"));
  fault_point("microvm.fork.frozen");
  HARENA_TRY(json children, fork_children(call, requests, folder->path()));
  for (auto& child : children) {
    if (child.contains("details")) child["details"]["fork"] = *told;
  }
  return children;
}

Status MicrovmBackend::rollback(const Call& call, std::string_view sandbox_id, std::string_view snapshot_state) {
  const std::string id(sandbox_id);
  HARENA_TRY(const auto folder, decode_snapshot(snapshot_state));
  HARENA_TRY_STATUS(verify_snapshot(folder, false));
  HARENA_TRY(json told, ask(id, {{"verb", "rollback"}, {"folder", folder}}));
  const auto record = record_of(id);
  if (!record || !told.contains("hooks")) return {};
  HARENA_TRY(const std::string text, read_file_at(AT_FDCWD, record->state.vm_dir + "/config.json"));
  HARENA_TRY(const auto config, MachineConfig::parse(text));
  tell_clone(record->state, config, [&call] { return call.check(); }, told);
  // The verb has no report of its own.
  const auto failed = failed_hooks(told["hooks"]);
  if (!failed.empty()) host_.warning("after the rollback of the microVM " + id + ": " + failed);
  return {};
}

}  // namespace harena::microvm
