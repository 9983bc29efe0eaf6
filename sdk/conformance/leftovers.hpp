#pragma once
// What sandboxes may leave behind on a machine, found by what it is called or by whose child it is, so that what
// other programs do at the same time isn't blamed on the plugin.

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace harena::conformance {

/// The state of the machine before the plugin did anything, and the question what is new.
class Leftovers {
 public:
  /// `traces`: sandbox ids and folders; whatever has one of them in its name is the plugin's.
  explicit Leftovers(std::vector<std::string> traces);
  /// One line each: processes (children of this one, a sub-reaper), mounts, cgroups, loop devices, listening sockets,
  /// and network interfaces when this process has a network namespace of its own.
  std::vector<std::string> find() const;
  /// The same, again until nothing is left or two seconds have passed: what the kernel takes apart in the background.
  std::vector<std::string> find_settled() const;
  void add_trace(std::string trace) { traces_.push_back(std::move(trace)); }

 private:
  bool is_ours(const std::string& text) const;
  std::vector<std::string> our_cgroups() const;
  std::vector<std::string> traces_;
  std::set<std::string> mounts_, interfaces_;
  std::set<int> children_;
};

/// Pids of living children of `pid`, zombies not counted.
std::set<int> children_of(int pid);
/// Kills and reaps the children of this process that aren't in `others`, again until there is none.
void end_new_children(const std::set<int>& others);

}  // namespace harena::conformance
