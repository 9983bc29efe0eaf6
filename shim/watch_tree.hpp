#pragma once
// The folders that an inotify instance watches, as a tree of names: an event names a folder by its number, and a moved
// folder takes everything below it along.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "shim/file_tree.hpp"

namespace harena::shim {

class WatchTree {
 public:
  struct Node {
    int wd = -1;
    Node* parent = nullptr;
    std::string name;
    std::map<std::string, std::unique_ptr<Node>> children;
    /// Names that a scan has reported, whose own events may still be in the queue.
    std::set<std::string> reported;
  };

  /// resource_exhausted (limit, inotify) when this machine grants no more instances.
  static Result<WatchTree> create(const FileTree& tree);

  int fd() const { return inotify_.get(); }
  Node& root() { return *root_; }
  /// Null for a number that was dropped.
  Node* find(int wd) const;
  /// Relative to the root; "" for the root.
  static std::string path_of(const Node& node);
  static std::string path_of(const Node& node, const std::string& name);

  enum class Added { fresh, known, elsewhere };
  /// Watches `folder` as `node`, a child of what is there already (or the root). known: it was that very node; elsewhere: the folder is
  /// watched under another path, so events are on their way that say how it came here. permission_denied, resource_exhausted.
  Result<Added> watch_root(int folder);
  Result<Added> watch_child(Node& parent, const std::string& name, int folder);
  /// Whether `folder` is what `node` watches.
  bool is_same(const Node& node, int folder);

  /// With everything below.
  void drop(Node& parent, const std::string& name);
  /// What was under the new name is dropped. Null when there is no such node.
  Node* move(Node& from, const std::string& name, Node& to, const std::string& new_name);
  /// Everything but the root; returns the numbers, still watched, for unwatch().
  std::vector<int> forget_all();
  /// Those of `wds` that no node has taken up again.
  void unwatch(const std::vector<int>& wds);
  void clear_reported();
  void note_reported(Node& node, const std::string& name);

 private:
  explicit WatchTree(const FileTree& tree) : tree_(&tree), root_(std::make_unique<Node>()) {}
  Result<int> add(int folder, unsigned extra) const;
  void drop_all(Node& node);

  const FileTree* tree_;
  UniqueFd inotify_;
  std::unique_ptr<Node> root_;
  std::unordered_map<int, Node*> by_wd_;
  std::vector<Node*> with_reported_;
};

}  // namespace harena::shim
