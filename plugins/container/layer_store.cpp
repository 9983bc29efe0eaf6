#include "plugins/container/layer_store.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "sdk/support/fault.hpp"
#include "sdk/support/files.hpp"

namespace harena::container {
namespace {

constexpr const char* kName = ".container-layers";
constexpr const char* kSnapshots = "snapshots";
/// A layer that is being removed: nobody can begin to use it any more.
constexpr std::string_view kTrash = "trash-";

bool is_layer(const std::string& name) { return name.starts_with('l') || name.starts_with(kTrash); }

}  // namespace

Result<std::string> LayerStore::new_id() {
  unsigned char bytes[10];
  if (::getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) return errno_error(errno, "getrandom");
  std::string id = "l";
  char text[3];
  for (unsigned char byte : bytes) {
    std::snprintf(text, sizeof text, "%02x", byte);
    id += text;
  }
  return id;
}

std::string LayerStore::folder_for(const std::string& state_dir) {
  std::string path = state_dir;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.substr(0, path.rfind('/') + 1) + kName;
}

std::vector<std::string> LayerStore::entries(const std::vector<FrozenLayer>& layers) const {
  std::vector<std::string> list;
  for (const auto& layer : layers) list.push_back(std::to_string(layer.first_id) + "=" + tree(layer.id));
  return list;
}

Status LayerStore::begin(const std::string& id, const std::string& user) {
  HARENA_TRY(UniqueFd folder, ensure_directory(AT_FDCWD, folder_, 0700));
  HARENA_TRY(UniqueFd layer, ensure_directory(folder.get(), id, 0700));
  HARENA_TRY(UniqueFd users, ensure_directory(layer.get(), "users", 0700));
  return create_file_at(users.get(), user, "", 0600);
}

Status LayerStore::take(const std::string& layer, const std::string& upper) {
  if (::rename(upper.c_str(), tree(layer).c_str()) == 0) return {};
  return errno_error(errno, "move an upper folder to the layers");
}

Status LayerStore::add_user(const std::vector<FrozenLayer>& layers, const std::string& user) {
  std::lock_guard lock(mutex_);
  for (const auto& layer : layers) {
    Status added = create_file_at(AT_FDCWD, folder_ + "/" + layer.id + "/users/" + user, "", 0600);
    if (added.ok()) continue;
    for (const auto& done : layers) ::unlink((folder_ + "/" + done.id + "/users/" + user).c_str());
    if (added.error().code == ErrorCode::not_found) {
      return make_error(ErrorCode::not_found, "the layer " + layer.id + " isn't there any more");
    }
    return added;
  }
  return {};
}

Status LayerStore::remove_locked(int folder, const std::string& layer) {
  std::string name = layer;
  if (!name.starts_with(kTrash)) {
    name = std::string(kTrash) + layer;
    if (::renameat(folder, layer.c_str(), folder, name.c_str()) != 0) return errno_error(errno, "discard the layer " + layer);
  }
  fault_point("layer.discarded");
  return remove_tree_at(folder, name);
}

Status LayerStore::drop_locked(int folder, const std::string& layer, const std::string& user) {
  const std::string users = layer + "/users";
  if (::unlinkat(folder, (users + "/" + user).c_str(), 0) != 0 && errno != ENOENT) return errno_error(errno, "drop a user of " + layer);
  auto left = list_directory(folder, users);
  if (left.ok() && !left->empty()) return {};
  if (!left.ok() && left.error().code == ErrorCode::not_found) return {};  // gone already
  return remove_locked(folder, layer);
}

Status LayerStore::drop_user(const std::vector<FrozenLayer>& layers, const std::string& user) {
  auto folder = open_directory(AT_FDCWD, folder_);
  if (!folder.ok()) return {};  // there are no layers
  std::lock_guard lock(mutex_);
  for (const auto& layer : layers) HARENA_TRY_STATUS(drop_locked(folder->get(), layer.id, user));
  return {};
}

Status LayerStore::drop_user(const std::string& user) {
  auto folder = open_directory(AT_FDCWD, folder_);
  if (!folder.ok()) return {};
  std::lock_guard lock(mutex_);
  ::unlinkat(folder->get(), (std::string(kSnapshots) + "/" + user).c_str(), 0);
  HARENA_TRY(const auto names, list_directory(folder->get(), "."));
  for (const auto& name : names) {
    if (!is_layer(name) || ::faccessat(folder->get(), (name + "/users/" + user).c_str(), F_OK, 0) != 0) continue;
    HARENA_TRY_STATUS(drop_locked(folder->get(), name, user));
  }
  return {};
}

Status LayerStore::remember_snapshot(const std::string& name, const std::string& snapshot) {
  HARENA_TRY(UniqueFd folder, ensure_directory(AT_FDCWD, folder_, 0700));
  HARENA_TRY(UniqueFd snapshots, ensure_directory(folder.get(), kSnapshots, 0700));
  return create_file_at(snapshots.get(), name, snapshot, 0600);
}

Status LayerStore::sync() const {
  HARENA_TRY(UniqueFd folder, open_directory(AT_FDCWD, folder_));
  // One call for all files, and for the names and owners of them; it also reports what the kernel failed to write before.
  if (::syncfs(folder.get()) == 0) return {};
  return errno_error(errno, "write the layers to the disk");
}

bool LayerStore::lives_locked(const std::string& user, const std::set<std::string>& alive) const {
  if (alive.count(user) != 0 || pins_.count(user) != 0) return true;
  auto folder = read_file_at(AT_FDCWD, folder_ + "/" + kSnapshots + "/" + user);
  return folder.ok() && ::access(folder->c_str(), F_OK) == 0;
}

Status LayerStore::collect(const std::set<std::string>& alive) {
  auto folder = open_directory(AT_FDCWD, folder_);
  if (!folder.ok()) return {};
  std::lock_guard lock(mutex_);
  HARENA_TRY(const auto names, list_directory(folder->get(), "."));
  for (const auto& name : names) {
    if (!is_layer(name)) continue;
    auto users = list_directory(folder->get(), name + "/users");
    for (const auto& user : users.ok() ? *users : std::vector<std::string>{}) {
      if (!lives_locked(user, alive)) ::unlinkat(folder->get(), (name + "/users/" + user).c_str(), 0);
    }
    users = list_directory(folder->get(), name + "/users");
    if (users.ok() && !users->empty()) continue;
    HARENA_TRY_STATUS(remove_locked(folder->get(), name));
  }
  auto snapshots = list_directory(folder->get(), kSnapshots);
  for (const auto& name : snapshots.ok() ? *snapshots : std::vector<std::string>{}) {
    if (!lives_locked(name, alive)) ::unlinkat(folder->get(), (std::string(kSnapshots) + "/" + name).c_str(), 0);
  }
  return {};
}

LayerStore::Pin::Pin(LayerStore& layers) : layers_(layers) {
  auto id = LayerStore::new_id();
  name_ = "pin-" + (id.ok() ? *id : std::string());
  std::lock_guard lock(layers_.mutex_);
  layers_.pins_.insert(name_);
}

LayerStore::Pin::~Pin() {
  (void)layers_.drop_user(name_);
  std::lock_guard lock(layers_.mutex_);
  layers_.pins_.erase(name_);
}

}  // namespace harena::container
