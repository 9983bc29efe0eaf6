// The shim in namespaces mode, with the smallest sandbox there is: an init in its own user, pid, mount, net, ipc and uts namespace, a
// tmpfs on /tmp, and a cgroup if this host has a v2 hierarchy.

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "tests/integration/session/shim_fixture.hpp"

namespace harena::session {
namespace {

constexpr int kOutsideId = 100'000;

void write_text(const std::string& path, const std::string& text) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  (void)!::write(fd.get(), text.data(), text.size());
}

[[noreturn]] void be_init(int go, int ready) {
  char byte;
  (void)!::read(go, &byte, 1);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGCHLD, SIG_IGN);  // reaps
  bool made = ::setresuid(0, 0, 0) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
              ::mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, nullptr) == 0 &&
              ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV, nullptr) == 0;
  (void)!::write(ready, made ? "1" : "0", 1);
  for (;;) ::pause();
}

std::string unified_folder() {
  for (const char* path : {"/sys/fs/cgroup/unified", "/sys/fs/cgroup"}) {
    if (::access((std::string(path) + "/cgroup.procs").c_str(), W_OK) == 0 && ::access((std::string(path) + "/cgroup.controllers").c_str(), F_OK) == 0) return path;
  }
  return {};
}

/// The launcher: makes the init, becomes the shim.
[[noreturn]] void launch(const std::string& run_dir, const std::string& cgroup, int shim_ready) {
  int go[2], ready[2];
  (void)!::pipe(go);
  (void)!::pipe(ready);
  long flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | SIGCHLD;
  auto init = static_cast<pid_t>(::syscall(SYS_clone, flags, nullptr, nullptr, nullptr, nullptr));
  if (init == 0) be_init(go[0], ready[1]);
  std::string map = "0 " + std::to_string(kOutsideId) + " 65536";
  write_text("/proc/" + std::to_string(init) + "/uid_map", map);
  write_text("/proc/" + std::to_string(init) + "/gid_map", map);
  (void)!::write(go[1], "g", 1);
  char made = '0';
  (void)!::read(ready[0], &made, 1);
  if (init < 0 || made != '1') ::_exit(1);
  int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, init, 0));
  ::fcntl(pidfd, F_SETFD, 0);
  std::vector<std::string> words = {shim_path(), "--run-dir", run_dir, "--sandbox", "test", "--mode", "namespaces", "--init-pid", std::to_string(init),
                                    "--init-pidfd", std::to_string(pidfd), "--ready-fd", std::to_string(shim_ready), "--caps", "00000000a80425fb"};
  if (!cgroup.empty()) words.insert(words.end(), {"--cgroup-fd", std::to_string(::open(cgroup.c_str(), O_RDONLY | O_DIRECTORY))});
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

class Namespaces : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to make namespaces and cgroups";
    char pattern[] = "/tmp/harena-ns-XXXXXX";
    folder = ::mkdtemp(pattern);
    ::chmod(folder.c_str(), 0755);
    if (auto unified = unified_folder(); !unified.empty()) {
      cgroup = unified + "/harena-shim-test-" + std::to_string(::getpid());
      if (::mkdir(cgroup.c_str(), 0755) != 0) cgroup.clear();
    }
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    shim = ::fork();
    if (shim == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::close(ready[0]);
      launch(run_dir(), cgroup, ready[1]);
    }
    ::close(ready[1]);
    char byte;
    bool started = ::read(ready[0], &byte, 1) == 1;
    ::close(ready[0]);
    if (!started) GTEST_SKIP() << "this host doesn't allow user namespaces with a mount of /proc";
    client.emplace(Endpoint::over_unix(run_dir() + "/session.sock"));
  }
  void TearDown() override {
    if (shim > 0) end_shim();
    // The leaves must be gone by themselves; `files` is the shim's and stays with the sandbox's cgroup.
    if (!cgroup.empty()) {
      ::rmdir((cgroup + "/files").c_str());
      EXPECT_EQ(::rmdir(cgroup.c_str()), 0) << cgroup;
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  void end_shim() {
    ::kill(shim, SIGTERM);
    ::waitpid(shim, nullptr, 0);
    shim = -1;
  }
  std::string run_dir() const { return folder + "/run"; }
  std::string record() const {
    std::ifstream file(run_dir() + "/exit.json");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
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
  RunResult must_run(StartRequest request) {
    auto result = await(run(*client, std::move(request)));
    EXPECT_TRUE(result) << (result ? "" : result.error().describe());
    return result ? *std::move(result) : RunResult{};
  }

  std::string folder;
  std::string cgroup;
  pid_t shim = -1;
  boost::asio::io_context io{1};
  std::optional<SessionClient> client;
};

TEST_F(Namespaces, CommandsAreRootInsideAndNobodyOutside) {
  EXPECT_EQ(must_run(shell("id -u; id -g; id -G")).out, "0\n0\n0\n");
  auto map = must_run(shell("cat /proc/self/uid_map")).out;
  EXPECT_NE(map.find(std::to_string(kOutsideId)), std::string::npos);
  EXPECT_LT(std::stoi(must_run(shell("echo $$")).out), 100);
  EXPECT_NE(must_run(shell("grep NoNewPrivs /proc/self/status")).out.find('1'), std::string::npos);
  EXPECT_NE(must_run(shell("grep CapBnd /proc/self/status")).out.find("00000000a80425fb"), std::string::npos);
  auto user = argv({"id", "-u"});
  user.user = "nobody";
  EXPECT_EQ(must_run(user).out, "65534\n");
  EXPECT_EQ(must_run(shell("ls /proc/self/fd | wc -l")).out, "4\n");
  EXPECT_EQ(must_run(shell("ls /sys/class/net 2>/dev/null; cat /proc/net/dev | grep -c :")).exit.code, 0);
}

TEST_F(Namespaces, FilesAreTheSandboxsOwn) {
  FileWriteRequest write;
  write.path = "/tmp/made";
  auto put = [&]() -> http::Task<Result<FileStat>> {
    HARENA_CO_TRY(auto writer, co_await client->write_file(write));
    HARENA_CO_TRY_STATUS(co_await writer.write("inside"));
    co_return co_await writer.finish();
  };
  auto stat = await(put());
  ASSERT_TRUE(stat) << stat.error().describe();
  EXPECT_EQ(stat->uid, 0u);
  EXPECT_EQ(must_run(shell("cat /tmp/made; stat -c %u /tmp/made")).out, "inside0\n");
  EXPECT_NE(::access("/tmp/made", F_OK), 0);
  // The agent's links can't lead out, nor to the worker's own descriptors.
  must_run(shell("ln -s ../../../../etc/hostname /tmp/link; ln -s /proc/1/root/etc/passwd /tmp/magic"));
  FileReadRequest read;
  read.path = "/tmp/magic";
  EXPECT_FALSE(await(client->read_file(read)));
  // No worker is visible inside.
  EXPECT_EQ(must_run(shell("ls /proc | grep -c '^[0-9]'")).exit.code, 0);
}

TEST_F(Namespaces, TimeoutEndsTheWholeLeaf) {
  auto request = shell("setsid sh -c 'trap \"\" TERM; sleep 30' & (setsid sleep 30 &); sleep 30");
  request.timeout_ms = 300;
  auto result = must_run(request);
  EXPECT_EQ(result.exit.cause, ExitCause::timeout);
  EXPECT_EQ(must_run(shell("pgrep -c sleep || true")).out, "0\n");
}

TEST_F(Namespaces, PtyIsASessionOfItsOwn) {
  auto request = shell("test -t 0 && stty size");
  request.pty = true;
  auto result = await(run(*client, request));
  if (!result && result.error().code == ErrorCode::failed_precondition) GTEST_SKIP() << result.error().message;
  ASSERT_TRUE(result) << result.error().describe();
  EXPECT_NE(result->out.find("24 80"), std::string::npos);
}

TEST_F(Namespaces, DeathOfTheInitEndsAllAndIsRecorded) {
  auto task = [&]() -> http::Task<Result<RunResult>> {
    HARENA_CO_TRY(auto attached, co_await client->start_attached(shell("echo begun; sleep 30")));
    HARENA_CO_TRY(auto first, co_await attached.output.next());
    (void)co_await client->shutdown(0);
    HARENA_CO_TRY(auto rest, co_await collect(attached.output, first.bytes.size()));
    rest.out = first.bytes;
    co_return rest;
  };
  auto result = await(task());
  ASSERT_TRUE(result) << result.error().describe();
  EXPECT_EQ(result->out, "begun\n");
  EXPECT_EQ(result->exit.cause, ExitCause::sandbox_stopped);
  ::waitpid(shim, nullptr, 0);
  shim = -1;
  EXPECT_NE(record().find("\"cause\":\"stop\""), std::string::npos) << record();
}

}  // namespace
}  // namespace harena::session
