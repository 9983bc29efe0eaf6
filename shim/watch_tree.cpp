#include "shim/watch_tree.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace harena::shim {
namespace {

constexpr unsigned kMask = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY | IN_ATTRIB | IN_ONLYDIR |
                           IN_EXCL_UNLINK;

Error inotify_limit(const std::string& what, const std::string& setting) {
  Error error = make_error(ErrorCode::resource_exhausted,
                           what + ": this machine grants no more; sysctl fs.inotify." + setting + " raises it");
  error.cause = Cause::limit;
  error.cause_detail = "inotify";
  return error;
}

}  // namespace

Result<WatchTree> WatchTree::create(const FileTree& tree) {
  WatchTree made(tree);
  made.inotify_ = UniqueFd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (made.inotify_) return made;
  if (errno == EMFILE) return inotify_limit("watching a folder", "max_user_instances");
  return file_error(errno, "watching a folder");
}

Result<int> WatchTree::add(int folder, unsigned extra) const {
  // inotify takes paths alone: the descriptor's link, from inside of the host's /proc. It checks that the user may read the folder.
  if (::fchdir(tree_->proc()) != 0) return file_error(errno, "entering /proc");
  int wd = ::inotify_add_watch(inotify_.get(), FileTree::link_of(folder).c_str(), kMask | extra);
  if (wd >= 0) return wd;
  if (errno == ENOSPC) return inotify_limit("watching a folder", "max_user_watches");
  return file_error(errno, "watching a folder");
}

WatchTree::Node* WatchTree::find(int wd) const {
  auto found = by_wd_.find(wd);
  return found == by_wd_.end() ? nullptr : found->second;
}

std::string WatchTree::path_of(const Node& node) {
  if (node.parent == nullptr) return {};
  return path_of(*node.parent, node.name);
}

std::string WatchTree::path_of(const Node& node, const std::string& name) {
  std::string folder = path_of(node);
  return folder.empty() ? name : folder + "/" + name;
}

Result<WatchTree::Added> WatchTree::watch_root(int folder) {
  HARENA_TRY(root_->wd, add(folder, IN_DELETE_SELF | IN_MOVE_SELF));
  by_wd_[root_->wd] = root_.get();
  return Added::fresh;
}

Result<WatchTree::Added> WatchTree::watch_child(Node& parent, const std::string& name, int folder) {
  HARENA_TRY(int wd, add(folder, 0));
  auto known = parent.children.find(name);
  if (known != parent.children.end() && known->second->wd == wd) return Added::known;
  if (find(wd) != nullptr) return Added::elsewhere;
  drop(parent, name);
  auto node = std::make_unique<Node>();
  node->wd = wd;
  node->parent = &parent;
  node->name = name;
  by_wd_[wd] = node.get();
  parent.children[name] = std::move(node);
  return Added::fresh;
}

bool WatchTree::is_same(const Node& node, int folder) {
  auto wd = add(folder, 0);
  if (!wd) return true;
  if (*wd != node.wd && find(*wd) == nullptr) ::inotify_rm_watch(inotify_.get(), *wd);
  return *wd == node.wd;
}

void WatchTree::drop_all(Node& node) {
  for (auto& [name, child] : node.children) drop_all(*child);
  std::erase(with_reported_, &node);
  by_wd_.erase(node.wd);
  // Fails where the folder is gone, and its watch with it.
  (void)::inotify_rm_watch(inotify_.get(), node.wd);
}

void WatchTree::drop(Node& parent, const std::string& name) {
  auto found = parent.children.find(name);
  if (found == parent.children.end()) return;
  drop_all(*found->second);
  parent.children.erase(found);
}

WatchTree::Node* WatchTree::move(Node& from, const std::string& name, Node& to, const std::string& new_name) {
  auto found = from.children.find(name);
  if (found == from.children.end()) return nullptr;
  auto node = std::move(found->second);
  from.children.erase(found);
  drop(to, new_name);
  node->parent = &to;
  node->name = new_name;
  return (to.children[new_name] = std::move(node)).get();
}

std::vector<int> WatchTree::forget_all() {
  std::vector<int> wds;
  for (const auto& [wd, node] : by_wd_) {
    if (node != root_.get()) wds.push_back(wd);
  }
  for (int wd : wds) by_wd_.erase(wd);
  with_reported_.clear();
  root_->reported.clear();
  root_->children.clear();
  return wds;
}

void WatchTree::unwatch(const std::vector<int>& wds) {
  for (int wd : wds) {
    if (find(wd) == nullptr) (void)::inotify_rm_watch(inotify_.get(), wd);
  }
}

void WatchTree::note_reported(Node& node, const std::string& name) {
  if (node.reported.empty()) with_reported_.push_back(&node);
  node.reported.insert(name);
}

void WatchTree::clear_reported() {
  for (auto* node : with_reported_) node->reported.clear();
  with_reported_.clear();
}

}  // namespace harena::shim
