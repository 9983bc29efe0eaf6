#pragma once
// The shim in namespaces mode, with the smallest sandbox there is: an init in its own user, pid, mount, net, ipc and uts namespace,
// a tmpfs on /tmp, and cgroups with limits as the container backend makes them.

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "sdk/support/cgroup_tree.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/process.hpp"
#include "tests/integration/session/shim_fixture.hpp"

namespace harena::session {

inline constexpr int kOutsideId = 100'000;

struct SandboxLimits {
  std::int64_t memory_bytes = 256 << 20;
  std::int64_t pids = 200;
  /// A root of its own with so many bytes, a tmpfs; 0: the host's, with a tmpfs on /tmp.
  std::int64_t root_bytes = 0;
  /// The shim's folder is a tmpfs of so many bytes; 0: a plain folder.
  std::int64_t run_dir_bytes = 0;
  /// HARENA_FAULT of the shim; empty: none.
  std::string fault;
};

namespace sandbox_detail {

inline bool mount_proc(const std::string& at) { return ::mount("proc", at.c_str(), "proc", MS_NOSUID | MS_NODEV, nullptr) == 0; }

/// The host's programs below a small tmpfs.
inline bool enter_small_root(std::int64_t bytes) {
  const std::string root = "/tmp", options = "mode=755,size=" + std::to_string(bytes);
  if (::mount("tmpfs", root.c_str(), "tmpfs", MS_NOSUID, options.c_str()) != 0) return false;
  for (const char* name : {"/usr", "/bin", "/lib", "/lib64", "/etc", "/dev"}) {
    struct stat info{};
    if (::stat(name, &info) != 0) continue;
    ::mkdir((root + name).c_str(), 0755);
    if (::mount(name, (root + name).c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) return false;
  }
  for (const char* name : {"/proc", "/tmp", "/old"}) ::mkdir((root + name).c_str(), 01777);
  return mount_proc(root + "/proc") && ::syscall(SYS_pivot_root, root.c_str(), (root + "/old").c_str()) == 0 && ::chdir("/") == 0 &&
         ::umount2("/old", MNT_DETACH) == 0;
}

[[noreturn]] inline void be_init(int go, int ready, const SandboxLimits& limits) {
  char byte;
  (void)!::read(go, &byte, 1);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGCHLD, SIG_IGN);  // reaps
  bool made = ::setresuid(0, 0, 0) == 0 && ::setresgid(0, 0, 0) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  if (limits.root_bytes > 0) {
    made = made && enter_small_root(limits.root_bytes);
  } else {
    made = made && ::mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, nullptr) == 0 && mount_proc("/proc");
  }
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // the change of ids cleared it
  (void)!::write(ready, made ? "1" : "0", 1);
  for (;;) ::pause();
}

inline void write_text(const std::string& path, const std::string& text) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  (void)!::write(fd.get(), text.data(), text.size());
}

/// The launcher: makes the init, becomes the shim.
[[noreturn]] inline void launch(const std::string& run_dir, const std::optional<SandboxGroups>& groups, int shim_ready, const SandboxLimits& limits) {
  int go[2], ready[2];
  (void)!::pipe(go);
  (void)!::pipe(ready);
  long flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | SIGCHLD;
  auto init = static_cast<pid_t>(::syscall(SYS_clone, flags, nullptr, nullptr, nullptr, nullptr));
  if (init == 0) be_init(go[0], ready[1], limits);
  std::string map = "0 " + std::to_string(kOutsideId) + " 65536";
  write_text("/proc/" + std::to_string(init) + "/uid_map", map);
  write_text("/proc/" + std::to_string(init) + "/gid_map", map);
  if (groups) {
    // As in the container backend: the init is one of the sandbox's processes.
    auto number = std::to_string(init);
    for (const auto& tasks : groups->v1_tasks) (void)!::write(tasks.get(), number.data(), number.size());
    UniqueFd procs(::openat(groups->v2.get(), "cgroup.procs", O_WRONLY | O_CLOEXEC));
    (void)!::write(procs.get(), number.data(), number.size());
  }
  (void)!::write(go[1], "g", 1);
  char made = '0';
  (void)!::read(ready[0], &made, 1);
  if (init < 0 || made != '1') ::_exit(1);
  int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, init, 0));
  std::vector<std::string> words = {shim_path(), "--run-dir", run_dir, "--sandbox", "test", "--mode", "namespaces", "--init-pid", std::to_string(init),
                                    "--ready-fd", std::to_string(shim_ready), "--caps", "00000000a80425fb"};
  auto pass = [&](const char* name, int fd) {
    ::fcntl(fd, F_SETFD, 0);
    words.insert(words.end(), {name, std::to_string(fd)});
  };
  pass("--init-pidfd", pidfd);
  if (groups) pass("--cgroup-fd", groups->v2.get());
  if (groups) for (const auto& tasks : groups->v1_tasks) pass("--v1-tasks-fd", tasks.get());
  if (!limits.fault.empty()) ::setenv("HARENA_FAULT", limits.fault.c_str(), 1);
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

}  // namespace sandbox_detail

/// One sandbox. `why_not()` says why this host can't make it.
class NamespaceShim {
 public:
  explicit NamespaceShim(SandboxLimits limits = {}) {
    char pattern[] = "/tmp/harena-ns-XXXXXX";
    folder_ = ::mkdtemp(pattern);
    ::chmod(folder_.c_str(), 0755);
    ::mkdir(run_dir().c_str(), 0700);
    mounted_ = limits.run_dir_bytes > 0 &&
               ::mount("tmpfs", run_dir().c_str(), "tmpfs", 0, ("size=" + std::to_string(limits.run_dir_bytes)).c_str()) == 0;
    make_groups(limits);
    start(limits);
  }
  ~NamespaceShim() {
    end();
    if (mounted_) ::umount2(run_dir().c_str(), MNT_DETACH);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
    if (!tree_) return;
    // After a crash whoever made the cgroup removes what is in it.
    EXPECT_EQ(crashed_ ? "" : left_groups(), "");
    EXPECT_TRUE(tree_->remove_sandbox("box", monotonic_now_ns() + 10'000'000'000).ok());
    EXPECT_TRUE(tree_->remove_instance().ok());
  }
  NamespaceShim(const NamespaceShim&) = delete;
  NamespaceShim& operator=(const NamespaceShim&) = delete;

  const std::string& why_not() const { return why_not_; }
  /// Whether memory and pids are limited.
  bool has_limits() const { return groups_.has_value(); }
  std::string run_dir() const { return folder_ + "/run"; }
  std::string socket() const { return run_dir() + "/session.sock"; }
  pid_t pid() const { return pid_; }
  /// SIGTERM, and waits. Nothing when it has ended.
  void end() {
    if (pid_ > 0) ::kill(pid_, SIGTERM);
    await_end();
  }
  /// wait(2)'s status.
  int await_end() {
    int status = 0;
    if (std::exchange(waited_, true) || pid_ <= 0) return 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    crashed_ = WIFSIGNALED(status);
    return status;
  }
  std::string record() const {
    std::ifstream file(run_dir() + "/exit.json");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  /// Waits until no process is left in the sandbox's cgroup; false after ten seconds.
  bool await_empty() const {
    auto group = tree_->open_sandbox("box");
    return group.ok() && group->wait_empty(monotonic_now_ns() + 10'000'000'000).ok();
  }
  const CgroupTree& tree() const { return *tree_; }

 private:
  void make_groups(const SandboxLimits& limits) {
    auto layout = detect_cgroups();
    if (!layout.ok()) return;
    // A parent of its own: whoever removes a shared one when it is empty would race with whoever has just found it there.
    auto tree = CgroupTree::open(*layout, "harena-shim-test-" + std::to_string(::getpid()) + "-" + std::to_string(next_number()), "i");
    if (!tree.ok()) return;
    CgroupLimits wanted;
    wanted.cpu_millicores = 4000;
    wanted.memory_bytes = limits.memory_bytes;
    wanted.pids = limits.pids;
    auto groups = tree->make_sandbox("box", wanted, {"cpu", "swap"});
    if (!groups.ok()) return (void)tree->remove_instance();
    tree_.emplace(std::move(*tree));
    groups_.emplace(std::move(*groups));
  }
  static int next_number() {
    static int number = 0;
    return ++number;
  }
  void start(const SandboxLimits& limits) {
    int ready[2];
    if (::pipe(ready) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that crashes leaves no shim
      ::close(ready[0]);
      sandbox_detail::launch(run_dir(), groups_, ready[1], limits);
    }
    ::close(ready[1]);
    char byte;
    if (::read(ready[0], &byte, 1) != 1) why_not_ = "this host doesn't allow user namespaces with a mount of /proc";
    ::close(ready[0]);
  }
  /// Leaves of commands must be gone by themselves; `files` is the shim's and stays with the sandbox's cgroup.
  std::string left_groups() const {
    auto group = tree_->open_sandbox("box");
    if (!group.ok()) return "no group";
    std::string left;
    auto names = list_directory(group->fd(), ".");
    for (const auto& name : names.ok() ? *names : std::vector<std::string>{}) {
      if (name.starts_with("cmd-")) left += name + " ";
    }
    return left;
  }

  std::string folder_;
  std::string why_not_;
  bool mounted_ = false;
  bool waited_ = false;
  bool crashed_ = false;
  std::optional<CgroupTree> tree_;
  std::optional<SandboxGroups> groups_;
  pid_t pid_ = -1;
};

class NamespaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to make namespaces and cgroups";
  }
  /// Call GTEST_SKIP() with why_not() when it isn't empty.
  void make(SandboxLimits limits = {}) {
    box.emplace(std::move(limits));
    client.emplace(Endpoint::over_unix(box->socket()));
  }
  void TearDown() override {
    client.reset();
    box.reset();
  }
  template <class T>
  T await(http::Task<T> task) {
    std::optional<T> out;
    io.restart();
    boost::asio::co_spawn(io, http::detail::store_result(std::move(task), out), [](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);
    });
    while (!out) io.run_one();
    return std::move(*out);
  }
  Result<RunResult> try_run(StartRequest request) { return await(run(*client, std::move(request))); }
  RunResult must_run(StartRequest request) {
    auto result = try_run(std::move(request));
    EXPECT_TRUE(result) << (result ? "" : result.error().describe());
    return result ? *std::move(result) : RunResult{};
  }

  boost::asio::io_context io{1};
  std::optional<NamespaceShim> box;
  std::optional<SessionClient> client;
};

/// For the first line of a test: makes the sandbox, or skips and says what this host lacks.
#define HARENA_MAKE_SANDBOX(...)                                \
  make(__VA_ARGS__);                                            \
  if (!box->why_not().empty()) GTEST_SKIP() << box->why_not();  \
  if (!box->has_limits()) GTEST_SKIP() << "this host doesn't let us limit memory and pids by cgroups"

}  // namespace harena::session
