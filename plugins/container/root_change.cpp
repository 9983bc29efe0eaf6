#include "plugins/container/root_change.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "plugins/container/layer_copy.hpp"
#include "sdk/support/fault.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/project_quota.hpp"

namespace harena::container {
namespace {

bool holds(const std::vector<FrozenLayer>& layers, const FrozenLayer& one) {
  return std::find(layers.begin(), layers.end(), one) != layers.end();
}

/// Of `a` what isn't in `b`.
std::vector<FrozenLayer> without(const std::vector<FrozenLayer>& a, const std::vector<FrozenLayer>& b) {
  std::vector<FrozenLayer> left;
  std::copy_if(a.begin(), a.end(), std::back_inserter(left), [&](const auto& layer) { return !holds(b, layer); });
  return left;
}

Status remove_in(const std::string& folder, const std::string& name) {
  HARENA_TRY(UniqueFd opened, open_directory(AT_FDCWD, folder));
  return remove_tree_at(opened.get(), name);
}

/// By the folder as it is now: another may have its path by then.
Status remove_later(SerialWorker& later, const std::string& folder, const std::string& name) {
  HARENA_TRY(UniqueFd opened, open_directory(AT_FDCWD, folder));
  later.add([held = std::make_shared<UniqueFd>(std::move(opened)), name] { (void)remove_tree_at(held->get(), name); });
  return {};
}

bool is_root_name(const std::string& name) {
  return (name[0] == 'u' || name[0] == 'w' || name[0] == 'd') && std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

Status RootChange::load() {
  HARENA_TRY(record_, RootRecord::read(state_.state_dir));
  return record_.next ? settle() : Status();
}

std::vector<LayerImage> RootChange::image_layers() const {
  std::vector<LayerImage> images;
  for (std::size_t i = 0; i < state_.layers.size() && i < state_.layer_paths.size(); ++i) {
    images.push_back({state_.layers[i], state_.layer_paths[i]});
  }
  return images;
}

Result<bool> RootChange::unchanged() const {
  if (record_.now.frozen.empty()) return false;
  HARENA_TRY(const auto names, list_directory(AT_FDCWD, upper_path()));
  if (!names.empty()) return false;
  struct stat upper{}, below{};
  if (::stat(upper_path().c_str(), &upper) != 0) return errno_error(errno, "stat the upper folder");
  const auto& last = record_.now.frozen.back();
  if (::stat(layers_.tree(last.id).c_str(), &below) != 0) return errno_error(errno, "stat the layer " + last.id);
  const IdShift shift{last.first_id, state_.first_id};
  return upper.st_mode == below.st_mode && upper.st_uid == shift.of(below.st_uid) && upper.st_gid == shift.of(below.st_gid);
}

Status RootChange::freeze(const std::string& pin, const std::function<Status()>& check) {
  HARENA_TRY(auto frozen, collapsed(pin, check));
  RootState::Change change{record_.now.following(), {}};
  HARENA_TRY(change.becomes, LayerStore::new_id());
  auto below = layers_.entries(frozen);
  below.push_back(std::to_string(state_.first_id) + "=" + upper_path());
  frozen.push_back({change.becomes, state_.first_id});
  change.to.frozen = std::move(frozen);
  const auto layer = change.to.frozen.back();
  HARENA_TRY_STATUS(begin(std::move(change)));
  HARENA_TRY_STATUS(put_in_place(std::move(below), -1));
  HARENA_TRY_STATUS(layers_.add_user({layer}, pin));
  return {};
}

Status RootChange::reset(const std::vector<FrozenLayer>& layers, int disk) {
  RootState::Change change{record_.now.following(), {}};
  change.to.frozen = layers;
  HARENA_TRY_STATUS(begin(std::move(change)));
  return put_in_place(layers_.entries(layers), disk);
}

Status RootChange::begin(RootState::Change change) {
  record_.next = std::move(change);
  const auto& next = *record_.next;
  HARENA_TRY_STATUS(record_.write(state_.state_dir));
  fault_point("root.written");
  Status ready = next.becomes.empty() ? Status() : layers_.begin(next.becomes, id_);
  auto added = without(next.to.frozen, record_.now.frozen);
  std::erase_if(added, [&](const auto& layer) { return layer.id == next.becomes; });
  if (ready.ok()) ready = layers_.add_user(added, id_);
  if (ready.ok()) ready = make_upper(next.to);
  fault_point("root.prepared");
  if (!ready.ok()) (void)abort();
  return ready;
}

/// The root folder's own mode and owner are part of what is seen.
Status RootChange::make_upper(const RootState& root) const {
  if (state_.disk_bytes > 0) return {};
  HARENA_TRY(UniqueFd folder, open_directory(AT_FDCWD, state_.state_dir));
  HARENA_TRY(UniqueFd work, ensure_directory(folder.get(), root.work, 0755));
  if (::fchown(work.get(), state_.first_id, state_.first_id) != 0) return errno_error(errno, "chown the work folder");
  HARENA_TRY(UniqueFd upper, ensure_directory(folder.get(), root.upper, 0755));
  HARENA_TRY(UniqueFd before, open_directory(AT_FDCWD, upper_path()));
  for (const UniqueFd* made : {&upper, &work}) HARENA_TRY_STATUS(follow_project(before.get(), made->get()));
  std::string like = upper_path();
  IdShift shift;
  if (record_.next->becomes.empty() && !root.frozen.empty()) {
    like = layers_.tree(root.frozen.back().id);
    shift = {root.frozen.back().first_id, state_.first_id};
  }
  HARENA_TRY(UniqueFd model, open_directory(AT_FDCWD, like));
  return copy_attributes(model.get(), upper.get(), ".", shift);
}

Status RootChange::put_in_place(std::vector<std::string> frozen, int disk) {
  SandboxRequest request;
  request.id = id_;
  request.first_id = state_.first_id;
  request.state_dir = state_.state_dir;
  request.layers = state_.layers;
  request.frozen = std::move(frozen);
  request.upper = record_.next->to.upper;
  request.work = record_.next->to.work;
  request.readonly_rootfs = state_.readonly_rootfs;
  request.disk = disk >= 0;
  const auto changed = launcher_.change_root(request, image_layers(), state_.init, disk >= 0 ? std::vector<int>{disk} : std::vector<int>());
  fault_point("root.changed");
  if (changed.ok()) return commit();
  const std::string wanted = request.upper;
  if (auto settled = settle(); !settled.ok()) return settled;
  // Its process was killed after the change: it counts.
  return record_.now.upper == wanted ? Status() : changed;
}

Status RootChange::commit() {
  const RootState before = record_.now;
  const RootState::Change change = *record_.next;
  if (change.becomes.empty()) {
    HARENA_TRY_STATUS(remove_in(state_.state_dir, state_.disk_bytes == 0 ? before.upper : before.disk()));
  } else if (::access(layers_.tree(change.becomes).c_str(), F_OK) != 0) {
    HARENA_TRY_STATUS(layers_.take(change.becomes, state_.state_dir + "/" + before.upper));
  }
  fault_point("root.moved");
  record_.now = change.to;
  record_.next.reset();
  HARENA_TRY_STATUS(record_.write(state_.state_dir));
  fault_point("root.committed");
  if (state_.disk_bytes == 0) HARENA_TRY_STATUS(remove_later(later_, state_.state_dir, before.work));
  return layers_.drop_user(without(before.frozen, record_.now.frozen), id_);
}

Status RootChange::abort() {
  const RootState::Change change = *record_.next;
  if (state_.disk_bytes == 0) {
    HARENA_TRY_STATUS(remove_in(state_.state_dir, change.to.upper));
    HARENA_TRY_STATUS(remove_in(state_.state_dir, change.to.work));
  } else {
    HARENA_TRY_STATUS(remove_in(state_.state_dir, change.to.disk()));
  }
  HARENA_TRY_STATUS(layers_.drop_user(without(change.to.frozen, record_.now.frozen), id_));
  record_.next.reset();
  return record_.write(state_.state_dir);
}

Status RootChange::settle() {
  if (!record_.next) return {};
  HARENA_TRY(const std::string upper, launcher_.settle_root(state_.state_dir, state_.init));
  return upper == record_.next->to.upper ? commit() : abort();
}

Result<std::vector<FrozenLayer>> RootChange::collapsed(const std::string& pin, const std::function<Status()>& check) {
  if (record_.now.frozen.size() < kMostFrozen) return record_.now.frozen;
  std::vector<LayerSource> sources;
  for (const auto& layer : record_.now.frozen) sources.push_back({layers_.tree(layer.id), layer.first_id, true});
  HARENA_TRY(const auto made, make_layer(layers_, sources, state_.first_id, pin, check));
  return std::vector<FrozenLayer>{made.layer};
}

namespace {

Result<std::int64_t> lay_all(const std::vector<LayerSource>& sources, std::uint32_t first_id, int onto, int links,
                             const std::function<Status()>& check) {
  std::int64_t bytes = 0;
  for (const auto& source : sources) {
    HARENA_TRY(UniqueFd tree, open_directory(AT_FDCWD, source.path));
    const LayerCopy how{{source.first_id, first_id}, source.frozen && source.first_id == first_id, check};
    HARENA_TRY(const auto copied, lay_onto(tree.get(), onto, links, how));
    bytes += copied.bytes;
  }
  return bytes;
}

}  // namespace

Result<MadeLayer> make_layer(LayerStore& layers, const std::vector<LayerSource>& sources, std::uint32_t first_id,
                             const std::string& pin, const std::function<Status()>& check) {
  HARENA_TRY(const std::string id, LayerStore::new_id());
  const MadeLayer made{{id, first_id}, 0};
  HARENA_TRY_STATUS(layers.begin(id, pin));
  HARENA_TRY(UniqueFd folder, open_directory(AT_FDCWD, layers.folder() + "/" + id));
  HARENA_TRY(UniqueFd links, ensure_directory(folder.get(), "links", 0700));
  HARENA_TRY(UniqueFd tree, ensure_directory(folder.get(), "u", 0755));
  fault_point("layer.begun");
  auto bytes = lay_all(sources, first_id, tree.get(), links.get(), check);
  fault_point("layer.laid");
  if (!bytes.ok()) {
    (void)layers.drop_user({made.layer}, pin);
    return std::move(bytes).error();
  }
  ::unlinkat(folder.get(), "links", AT_REMOVEDIR);
  return MadeLayer{made.layer, *bytes};
}

Status remove_roots(const std::string& state_dir) {
  auto folder = open_directory(AT_FDCWD, state_dir);
  if (!folder.ok()) return {};
  HARENA_TRY(const auto names, list_directory(folder->get(), "."));
  for (const auto& name : names) {
    if (is_root_name(name) || name.starts_with("root.json") || name == "standstill") HARENA_TRY_STATUS(remove_tree_at(folder->get(), name));
  }
  return {};
}

}  // namespace harena::container
