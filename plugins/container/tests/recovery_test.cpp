// Nothing leaks and nothing is lost: many cycles, kill -9 of each process, restarts of the host, failures in the middle.

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>

#include "plugins/container/tests/container_case.hpp"
#include "sdk/base/text.hpp"
#include "sdk/support/cgroup_layout.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/mount_api.hpp"
#include "sdk/support/process.hpp"

namespace harena::container::testing {
namespace {

using Recovery = ContainerCase;
namespace fs = std::filesystem;
constexpr std::int64_t kSecond = 1'000'000'000;

std::size_t entries(const fs::path& folder) {
  std::error_code ignored;
  std::size_t count = 0;
  for (fs::directory_iterator it(folder, ignored), end; it != end; it.increment(ignored)) ++count;
  return count;
}

/// What must be as before after a sandbox has gone.
struct Census {
  std::size_t mounts, descriptors, cgroups, folders, loops, processes;
  bool operator==(const Census&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Census& c) {
  return out << "mounts " << c.mounts << " fds " << c.descriptors << " cgroups " << c.cgroups << " folders " << c.folders << " loops " << c.loops << " processes " << c.processes;
}

Census census(const Backend& backend) {
  auto layout = detect_cgroups();
  Census c{};
  // Its own alone, as with the loops: tests beside this one mount and unmount too.
  for (const auto& mount : mount_table().value_or({})) c.mounts += mount.mount_point.starts_with(backend.folder().string()) ? 1 : 0;
  c.descriptors = entries("/proc/self/fd");
  std::set<std::string> roots = {layout->v2_root};
  for (const auto& [name, root] : layout->v1_roots) roots.insert(root);
  for (const auto& root : roots) {
    std::error_code ignored;
    for (fs::recursive_directory_iterator it(root + "/harena/" + backend.instance(), ignored), end; it != end; it.increment(ignored)) c.cgroups += it->is_directory() ? 1 : 0;
  }
  c.folders = entries(backend.folder() / "run") + entries(backend.folder() / "state");
  for (const auto& entry : fs::directory_iterator("/sys/block")) c.loops += read_text(entry.path() / "loop/backing_file").starts_with(backend.folder().string()) ? 1 : 0;
  const pid_t launcher = backend.launcher_pid();
  for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(launcher) + "/task")) c.processes += split(read_text(entry.path() / "children"), ' ').size();
  if (launcher != 0) c.mounts += mount_table(std::to_string(launcher)).value_or({}).size();
  if (launcher != 0) c.descriptors += entries("/proc/" + std::to_string(launcher) + "/fd");
  return c;
}

/// The launcher notices the end of a shim by a signal: soon, but not at once.
void expect_census(const Backend& backend, const Census& wanted) {
  const std::int64_t deadline = monotonic_now_ns() + 10 * kSecond;
  Census now = census(backend);
  while (!(now == wanted) && monotonic_now_ns() < deadline) {
    std::this_thread::yield();
    now = census(backend);
  }
  EXPECT_EQ(now, wanted);
}

TEST_F(Recovery, FiftyCyclesLeaveNothing) {
  backend_->stop(made());
  const Census before = census(*backend_);
  for (int i = 0; i < 50; ++i) {
    const std::string id = made();
    backend_->shell(id, "mkdir -p /a/b/c; echo x > /a/b/c/d; sleep 1000 >/dev/null 2>&1 & true");
    ASSERT_EQ(backend_->stop(id).status, HARENA_OK);
  }
  expect_census(*backend_, before);
}

TEST_F(Recovery, ParallelCreates) {
  backend_->stop(made());
  backend_->await_pool();
  const Census before = census(*backend_);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([&] {
      const std::string id = new_id();
      if (backend_->create(id).status == HARENA_OK && backend_->shell(id, "hostname").output == id + "\n" && backend_->stop(id).status == HARENA_OK) ++right;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 20);
  expect_census(*backend_, before);
}

TEST_F(Recovery, LauncherKilled) {
  const std::string old = made();
  const pid_t launcher = backend_->launcher_pid();
  ASSERT_GT(launcher, 0);
  ASSERT_EQ(::kill(launcher, SIGKILL), 0);
  EXPECT_EQ(backend_->shell(old, "echo alive").output, "alive\n");
  const std::string id = new_id();
  auto outcome = backend_->create(id);
  if (outcome.status != HARENA_OK) {
    // It died while the request was on its way: a typed failure of this machine, and the next one works.
    EXPECT_EQ(outcome.status, HARENA_UNAVAILABLE) << outcome.message;
    EXPECT_EQ(outcome.cause, HARENA_CAUSE_INFRASTRUCTURE);
    outcome = backend_->create(id);
  }
  EXPECT_EQ(outcome.status, HARENA_OK) << outcome.message;
  EXPECT_EQ(backend_->stop(old).status, HARENA_OK);
  EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
}

TEST_F(Recovery, ShimKilledEndsTheSandboxAndIsReported) {
  const std::string id = made();
  const pid_t shim = json::parse(last_["state"].get<std::string>())["shim"][0];
  auto init = process_ref(init_pid());
  ASSERT_TRUE(init.ok());
  auto init_fd = open_process(*init);
  ASSERT_EQ(::kill(shim, SIGKILL), 0);
  EXPECT_TRUE(wait_process_end(init_fd->get(), monotonic_now_ns() + 5 * kSecond));
  const std::int64_t deadline = monotonic_now_ns() + 5 * kSecond;
  while (backend_->event_count() == 0 && monotonic_now_ns() < deadline) std::this_thread::yield();
  auto events = backend_->events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["sandbox_id"], id);
  EXPECT_EQ(events[0]["cause"], "infrastructure");
  EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
}

TEST_F(Recovery, HostRestarted) {
  const std::string id = made();
  const std::string state = last_["state"];
  backend_->shell(id, "echo kept > /kept");
  backend_->restart();
  auto recovered = backend_->recover(id, state);
  ASSERT_EQ(recovered.result["status"], "running") << recovered.message;
  EXPECT_EQ(backend_->recover(id, state).result["status"], "running");
  EXPECT_EQ(backend_->shell(id, "cat /kept").output, "kept\n");
  EXPECT_EQ(backend_->usage(id).status, HARENA_OK);
  const std::string other = made();
  EXPECT_NE(backend_->shell(other, "cat /kept").exit, 0);
  EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
}

TEST_F(Recovery, StateOfAnotherBootOrProcessIsGone) {
  const std::string id = made();
  json state = json::parse(last_["state"].get<std::string>());
  backend_->restart();
  state["shim"][1] = state["shim"][1].get<std::uint64_t>() + 1;  // the same pid, another process
  auto recovered = backend_->recover(id, state.dump());
  EXPECT_EQ(recovered.result["status"], "gone");
  EXPECT_EQ(backend_->usage(id).status, HARENA_NOT_FOUND);
  EXPECT_EQ(backend_->recover(id, "nonsense").status, HARENA_DATA_LOSS);
}

TEST_F(Recovery, SweepTakesOrphansAndNothingElse) {
  const std::string known = made();
  const std::string state = last_["state"];
  const std::string orphan = made();
  const pid_t orphan_init = init_pid();
  auto layout = detect_cgroups();
  const fs::path foreign = fs::path(layout->v2_root) / "harena" / (backend_->instance() + "-other") / "somebody";
  fs::create_directories(foreign);
  backend_->restart();
  ASSERT_EQ(backend_->recover(known, state).result["status"], "running");
  auto swept = backend_->sweep({known});
  EXPECT_EQ(swept.result["removed"], json::array({orphan})) << swept.message;
  EXPECT_NE(::kill(orphan_init, 0), 0);
  EXPECT_EQ(backend_->shell(known, "echo alive").output, "alive\n");
  EXPECT_TRUE(fs::exists(foreign));
  EXPECT_TRUE(backend_->sweep({known}).result["removed"].empty());
  ::rmdir(foreign.c_str());
  ::rmdir(foreign.parent_path().c_str());
}

TEST_F(Recovery, FailedCreatesAreUndone) {
  backend_ = std::make_unique<Backend>(json{{"shim_path", "/bin/false"}});
  const std::string id = new_id();
  auto outcome = backend_->create(id);
  EXPECT_EQ(outcome.status, HARENA_UNAVAILABLE) << outcome.message;
  EXPECT_EQ(outcome.cause, HARENA_CAUSE_INFRASTRUCTURE);
  const Census before = census(*backend_);
  for (int i = 0; i < 10; ++i) {
    const std::string next = new_id();
    EXPECT_NE(backend_->create(next).status, HARENA_OK);
    backend_->stop(next);
    backend_->remove_folders(next);
  }
  backend_->remove_folders(id);
  Census wanted = before;
  wanted.folders -= 2;
  expect_census(*backend_, wanted);
}

TEST_F(Recovery, PastDeadlineAndRunningOutOfTime) {
  EXPECT_EQ(backend_->create(new_id(), json::object(), 1).status, HARENA_DEADLINE_EXCEEDED);
  for (std::int64_t us : {200, 500, 1000, 2000, 3000, 5000, 8000}) {
    const std::string id = new_id();
    auto outcome = backend_->create(id, json::object(), monotonic_now_ns() + us * 1000);
    EXPECT_TRUE(outcome.status == HARENA_OK || outcome.status == HARENA_DEADLINE_EXCEEDED) << outcome.message;
    if (outcome.status != HARENA_OK) {
      EXPECT_EQ(backend_->usage(id).status, HARENA_NOT_FOUND);
    }
    EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
  }
  EXPECT_TRUE(backend_->sweep({}).result["removed"].empty());
}

TEST_F(Recovery, HostileTreesAreRemoved) {
  const std::string id = made();
  // Thousands of levels: longer than any path, deeper than any recursion.
  auto result = backend_->shell(id, "cd /tmp; i=0; while [ $i -lt 3000 ]; do mkdir aaaaaaaaaaaaaaaaaaaa && cd aaaaaaaaaaaaaaaaaaaa || break; i=$((i+1)); done; echo $i; ln -s /etc /root/link");
  EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
  EXPECT_FALSE(fs::exists(backend_->state_dir(id)));
  EXPECT_TRUE(fs::exists("/etc/passwd"));
}

}  // namespace
}  // namespace harena::container::testing
