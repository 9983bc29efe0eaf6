#include "sdk/conformance/leftovers.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

namespace harena::conformance {
namespace {

namespace fs = std::filesystem;
constexpr auto kSettleTime = std::chrono::seconds(2);
constexpr auto kSettlePoll = std::chrono::milliseconds(20);
constexpr int kMaxCgroupDepth = 8;

// Empty when the process has gone meanwhile. By way of operator<<, as iterators over a filebuf throw then.
std::string read_proc(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

std::set<std::string> lines_of(const char* path) {
  std::ifstream file(path);
  std::set<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.insert(line);
  return lines;
}

// The fifth field of a mountinfo line: where it is mounted; and its root and source, which name loop files and netns.
std::string mount_of(const std::string& line) {
  std::istringstream fields(line);
  std::string field, root, point;
  for (int i = 1; i <= 5 && fields >> field; ++i) {
    if (i == 4) root = field;
    if (i == 5) point = field;
  }
  return point + " (of " + root + ")";
}

std::set<std::string> mounts() {
  std::set<std::string> found;
  for (const auto& line : lines_of("/proc/self/mountinfo")) found.insert(mount_of(line));
  return found;
}

std::set<std::string> interfaces() {
  // Not /sys/class/net, which shows the namespace that sysfs was mounted in.
  std::set<std::string> names;
  for (const auto& line : lines_of("/proc/self/net/dev")) {
    auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::string name = line.substr(0, colon);
    name.erase(0, name.find_first_not_of(' '));
    names.insert(name);
  }
  return names;
}

bool has_own_network() {
  std::error_code failed;
  return fs::read_symlink("/proc/self/ns/net", failed) != fs::read_symlink("/proc/1/ns/net", failed) && !failed;
}

struct Stat {
  int parent = 0;
  char state = '?';
};
Stat stat_of(const std::string& pid) {
  std::string text = read_proc("/proc/" + pid + "/stat");
  auto after_name = text.rfind(") ");
  if (after_name == std::string::npos) return {};
  Stat stat;
  std::istringstream(text.substr(after_name + 2)) >> stat.state >> stat.parent;
  return stat;
}

std::string command_of(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace

std::set<int> children_of(int pid) {
  std::set<int> children;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator("/proc", failed)) {
    std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    Stat stat = stat_of(name);
    if (stat.parent == pid && stat.state != 'Z' && stat.state != 'X') children.insert(std::stoi(name));
  }
  return children;
}

void end_new_children(const std::set<int>& others) {
  // Each round may hand us the children of those that it ended.
  for (int round = 0; round < 100; ++round) {
    auto children = children_of(::getpid());
    std::erase_if(children, [&](int child) { return others.contains(child); });
    if (children.empty()) return;
    for (int child : children) ::kill(child, SIGKILL);
    for (int child : children) ::waitpid(child, nullptr, 0);
  }
}

Leftovers::Leftovers(std::vector<std::string> traces)
    : traces_(std::move(traces)), mounts_(mounts()), interfaces_(interfaces()), children_(children_of(::getpid())) {}

bool Leftovers::is_ours(const std::string& text) const {
  return std::ranges::any_of(traces_, [&](const auto& trace) { return text.find(trace) != std::string::npos; });
}

// The walk ends early when another program removes a group under it; then it begins again.
std::vector<std::string> Leftovers::our_cgroups() const {
  std::vector<std::string> found;
  std::error_code failed;
  for (int attempt = 0; attempt < 20; ++attempt) {
    found.clear();
    for (auto it = fs::recursive_directory_iterator("/sys/fs/cgroup", fs::directory_options::skip_permission_denied, failed);
         !failed && it != fs::recursive_directory_iterator(); it.increment(failed)) {
      if (!it->is_directory(failed) || it.depth() > kMaxCgroupDepth) continue;
      if (is_ours(it->path().filename())) found.push_back(it->path()), it.disable_recursion_pending();
    }
    if (!failed) break;
    failed.clear();
  }
  return found;
}

std::vector<std::string> Leftovers::find() const {
  std::vector<std::string> found;
  while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;
  for (int child : children_of(::getpid())) {
    if (!children_.contains(child)) found.push_back("process " + std::to_string(child) + " (" + command_of(child) + ")");
  }
  for (const auto& mount : mounts()) {
    if (!mounts_.contains(mount)) found.push_back("mount " + mount);
  }
  for (const auto& cgroup : our_cgroups()) found.push_back("cgroup " + cgroup);
  std::error_code failed;
  for (const auto& device : fs::directory_iterator("/sys/block", failed)) {
    std::ifstream file(device.path() / "loop/backing_file");
    std::string backing;
    if (std::getline(file, backing) && is_ours(backing)) found.push_back("loop device " + device.path().filename().string() + " of " + backing);
  }
  for (const auto& line : lines_of("/proc/self/net/unix")) {
    if (is_ours(line)) found.push_back("socket " + line.substr(line.rfind(' ') + 1));
  }
  for (const auto& name : has_own_network() ? interfaces() : std::set<std::string>()) {
    if (!interfaces_.contains(name)) found.push_back("network interface " + name);
  }
  return found;
}

std::vector<std::string> Leftovers::find_settled() const {
  auto end = std::chrono::steady_clock::now() + kSettleTime;
  for (;;) {
    auto found = find();
    if (found.empty() || std::chrono::steady_clock::now() >= end) return found;
    std::this_thread::sleep_for(kSettlePoll);  // the kernel tells nobody when a cgroup or a mount has gone
  }
}

}  // namespace harena::conformance
