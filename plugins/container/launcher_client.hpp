#pragma once
// The plugin's end of the launcher: starts it, starts it again when it has died, and asks it for sandboxes.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "plugins/container/launcher/protocol.hpp"
#include "plugins/container/settings.hpp"
#include "sdk/support/cgroup_tree.hpp"
#include "sdk/support/process.hpp"

namespace harena::container {

struct LayerImage {
  std::string digest;
  std::string path;
};

/// What create returned about the processes it made.
struct LaunchedSandbox {
  ProcessRef shim;
  ProcessRef init;
  std::string stages;
};

/// All of a sandbox that is the same for every one, waiting for a request (launcher/protocol.hpp, verb prepare). Closing it ends it.
struct PreparedBlank {
  UniqueFd socket;
  ProcessRef builder;  // becomes the shim
  std::shared_ptr<const void> launcher;  // which one made it: of another, its layers aren't this one's
  std::uint64_t lxcfs_mount = 0;

  /// Whether it still waits.
  bool alive() const;
};

/// Thread-safe. One launcher at a time; sandboxes never depend on it.
class LauncherClient {
 public:
  /// Asked while waiting: a failure ends the wait.
  using CheckCall = std::function<Status()>;

  LauncherClient(const Settings& settings, const CgroupTree& cgroups) : settings_(settings), cgroups_(cgroups) {}
  /// Ends the launcher.
  ~LauncherClient();

  /// Makes a sandbox; layers that the launcher doesn't know are mounted first. `fds` are those of protocol.hpp's create, without the
  /// reply socket. Whoever calls undoes the sandbox on failure. `unavailable` when the launcher died (it is started anew by the
  /// next call).
  Result<LaunchedSandbox> create(const SandboxRequest& request, const std::vector<LayerImage>& layers, const std::vector<int>& fds,
                                 const CheckCall& check);
  /// Another root for a living sandbox (launcher/root_swap.hpp); `fds`: its disk's image, if the request has one. Waits for the end:
  /// a change can't be called off. After a failure settle() says what is in use.
  Status change_root(const SandboxRequest& request, const std::vector<LayerImage>& layers, const ProcessRef& init,
                     const std::vector<int>& fds);
  /// Ends what a killed change_root left; the name of the upper that is in use.
  Result<std::string> settle_root(const std::string& state_dir, const ProcessRef& init);
  /// Makes a blank in the launcher that runs; failed_precondition without one. `fds`: v2 cgroup, shim's cgroup. `layers`: of the root that
  /// request.stage is for.
  Result<PreparedBlank> prepare(BlankRequest request, const std::vector<LayerImage>& layers, const std::vector<int>& fds, const CheckCall& check);
  /// What create does, with a blank that was made for the same BlankRequest. `fds` are those of protocol.hpp's fill.
  /// failed_precondition when the blank isn't of this launcher; unavailable when it has died.
  Result<LaunchedSandbox> fill(const PreparedBlank& blank, SandboxRequest request, const std::vector<LayerImage>& layers,
                               const std::vector<int>& fds, const CheckCall& check);
  /// Whether the launcher that runs made it.
  bool has_made(const PreparedBlank& blank) const;
  /// The launcher's pid; 0 when none runs.
  pid_t pid() const;
  /// A sandbox that was found again uses its layers. (create does it by itself, and takes it back on failure.)
  void retain_layers(const std::vector<std::string>& digests);
  /// The layers that nobody uses any more are dropped beyond settings.idle_layers, oldest first.
  void release_layers(const std::vector<std::string>& digests);

 private:
  struct Process;
  Result<std::shared_ptr<Process>> ensure(const SandboxRequest& request);
  /// One that sees the folder, with the lxcfs that it has.
  Result<std::shared_ptr<Process>> ensure_folder(const std::string& state_dir);
  Result<std::shared_ptr<Process>> start(const std::set<std::string>& roots);
  Status mount_layers(Process& process, const std::vector<LayerImage>& layers, const CheckCall& check);
  Result<LaunchedSandbox> create_in(Process& process, const SandboxRequest& request, const std::vector<LayerImage>& layers,
                                    const std::vector<int>& fds, const CheckCall& check);
  static Result<LaunchedSandbox> await_sandbox(int socket, const CheckCall& check);
  static std::vector<std::string> paths_of(Process& process, const std::vector<std::string>& digests);
  Result<LaunchedSandbox> fill_in(Process& process, const PreparedBlank& blank, SandboxRequest request,
                                  const std::vector<LayerImage>& layers, const std::vector<int>& fds, const CheckCall& check);
  Result<Fields> ask(Process& process, const Fields& request, const std::vector<int>& fds, const CheckCall& check);

  const Settings& settings_;
  const CgroupTree& cgroups_;
  mutable std::mutex mutex_;
  std::shared_ptr<Process> process_;
  std::set<std::string> roots_;
  std::uint64_t lxcfs_mount_ = 0;
  std::map<std::string, int> users_;     // digest: sandboxes that use it
  std::vector<std::string> idle_order_;  // digests without users, oldest first
};

}  // namespace harena::container
