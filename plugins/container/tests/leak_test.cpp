// Nothing stays of a sandbox: after many lives, after a death of each program at each step, and where the host runs out of something.

#include <sys/mount.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "plugins/container/tests/census.hpp"
#include "plugins/container/tests/container_case.hpp"
#include "sdk/support/cgroup_layout.hpp"
#include "sdk/support/process.hpp"

namespace harena::container::testing {
namespace {

bool long_form() { return std::getenv("HARENA_LONG_TESTS") != nullptr; }

/// A fault file for the launcher and all that it starts (sdk/support/fault.hpp); points of the daemon itself are in tests/integration.
class Faults {
 public:
  explicit Faults(std::string file) : file_(std::move(file)) { ::setenv("HARENA_FAULT", ("@" + file_).c_str(), 1); }
  ~Faults() { ::unsetenv("HARENA_FAULT"); }
  void arm(const std::string& point) { std::ofstream(file_) << point; }
  bool fired() const { return ::access(file_.c_str(), F_OK) != 0; }

 private:
  const std::string file_;
};

class Leaks : public ContainerCase {
 protected:
  void live_once(const json& params) {
    const std::string id = made(params);
    EXPECT_EQ(backend_->run(id, {"true"}).exit, 0);
    EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
  }
  /// The pool gives the lowest range that is free.
  std::int64_t first_range() {
    const std::string id = made();
    const auto first = last_["details"].value("first_id", std::int64_t{0});
    backend_->stop(id);
    return first;
  }
  void expect_nothing_left(const std::set<std::string>& before, const std::string& after) {
    const auto left = left_over(*backend_, before);
    std::string text;
    for (const auto& one : left) text += "\n  " + one;
    EXPECT_TRUE(left.empty()) << "after " << after << ":" << text;
  }
};

TEST_F(Leaks, ManyLives) {
  live_once({{"disk", "16MiB"}});  // what is made once: layers, a template
  const std::int64_t first = first_range();
  const auto before = census(*backend_);
  const int rounds = long_form() ? 1000 : 50;
  for (int i = 0; i < rounds; ++i) live_once(i % 5 == 0 ? json{{"disk", "16MiB"}, {"cpuset", "0"}} : json::object());
  expect_nothing_left(before, std::to_string(rounds) + " lives");
  EXPECT_EQ(first_range(), first);
}

TEST_F(Leaks, ADeathAtEachStep) {
  Faults faults(backend_->folder() / "fault");
  live_once({{"disk", "16MiB"}});
  const std::int64_t first = first_range();
  const auto before = census(*backend_);
  const int rounds = long_form() ? 14 : 1;
  for (const std::string point : {"launcher.asked", "launcher.cloned", "builder.namespaces", "builder.overlay", "builder.init", "builder.answered",
                                  "init.joined", "init.named"}) {
    for (int i = 0; i < rounds; ++i) {
      faults.arm(point);
      const std::string id = new_id();
      auto outcome = backend_->create(id, {{"disk", "16MiB"}});
      EXPECT_TRUE(faults.fired()) << point;
      // A launcher that dies after it has made the builder may well have made the sandbox.
      if (point != "launcher.cloned") {
        EXPECT_NE(outcome.status, HARENA_OK) << point;
      }
      if (outcome.status != HARENA_OK) {
        EXPECT_EQ(outcome.cause, HARENA_CAUSE_INFRASTRUCTURE) << outcome.message;
      }
      EXPECT_EQ(backend_->stop(id).status, HARENA_OK) << point;
      live_once(json::object());  // and the next one is well
    }
    expect_nothing_left(before, "a death at " + point);
  }
  EXPECT_EQ(first_range(), first);
}

TEST_F(Leaks, AShimKilledWhileItRuns) {
  live_once(json::object());
  const auto before = census(*backend_);
  for (int i = 0; i < (long_form() ? 50 : 5); ++i) {
    const std::string id = made({{"disk", "16MiB"}});
    const int busy = backend_->start(id, {"sh", "-c", "while true; do sleep 100 & sleep 0.01; done"});
    const auto state = json::parse(last_["state"].get<std::string>());
    ::kill(state["shim"][0].get<pid_t>(), SIGKILL);
    EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
    ::close(busy);
  }
  expect_nothing_left(before, "killed shims");
}

/// Each number of inodes lets the create come one file further.
TEST_F(Leaks, AFullDisk) {
  int failed = 0;
  for (int inodes = 2; inodes < 30; inodes += long_form() ? 1 : 3) {
    backend_ = std::make_unique<Backend>();
    const std::string state = backend_->folder() / "state";
    ASSERT_EQ(::mount("tmpfs", state.c_str(), "tmpfs", 0, ("size=4m,nr_inodes=" + std::to_string(inodes)).c_str()), 0);
    const auto before = census(*backend_);
    const std::string id = new_id();
    std::error_code full;
    std::filesystem::create_directories(backend_->state_dir(id), full);
    if (!full) {
      auto outcome = backend_->create(id);
      if (outcome.status != HARENA_OK) {
        ++failed;
        EXPECT_EQ(outcome.cause, HARENA_CAUSE_INFRASTRUCTURE) << outcome.message;
      }
    }
    EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
    backend_->remove_folders(id);
    // The launcher of the instance has been started in between: its descriptors are the instance's.
    auto left = left_over(*backend_, before, false);
    EXPECT_TRUE(left.empty()) << *left.begin() << " with " << inodes << " inodes";
    backend_->restart();
    ::umount2(state.c_str(), MNT_DETACH);
  }
  EXPECT_GE(failed, 2) << "the disk was never full";
}

/// One process more each time: the builder can't be made, then the holder of the namespaces, then the init.
TEST_F(Leaks, NoProcessesLeft) {
  const auto layout = detect_cgroups().value();
  if (layout.v1_roots.count("pids") == 0) GTEST_SKIP() << "the launcher can't be limited alone on cgroup v2 here";
  live_once(json::object());
  const auto before = census(*backend_);
  const std::filesystem::path group = layout.v1_roots.at("pids") + "/harena-leak-test-" + std::to_string(::getpid());
  std::filesystem::create_directory(group);
  std::ofstream(group / "cgroup.procs") << backend_->launcher_pid();
  int failed = 0;
  for (int most = 1; most <= 4; ++most) {
    std::ofstream(group / "pids.max") << most;
    const std::string id = new_id();
    auto outcome = backend_->create(id);
    if (outcome.status != HARENA_OK) {
      ++failed;
      EXPECT_EQ(outcome.cause, HARENA_CAUSE_INFRASTRUCTURE) << outcome.message;
    }
    EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
  }
  EXPECT_GE(failed, 2);
  std::ofstream(group / "pids.max") << "max";
  live_once(json::object());
  expect_nothing_left(before, "creates without processes");
  std::ofstream(group.parent_path() / "cgroup.procs") << backend_->launcher_pid();
  std::filesystem::remove(group);
}

/// What an earlier life left is removed by its name; what isn't ours is left alone.
TEST_F(Leaks, ForeignThingsAreLeftAlone) {
  live_once(json::object());
  const auto layout = detect_cgroups().value();
  const std::filesystem::path ours = std::filesystem::path(layout.v2_root) / "harena" / backend_->instance();
  const std::filesystem::path odd = ours / "Not.A.Sandbox";
  const std::filesystem::path neighbour = std::filesystem::path(layout.v2_root) / ("harena-neighbour-" + std::to_string(::getpid()));
  std::filesystem::create_directory(odd);
  std::filesystem::create_directory(neighbour);
  std::filesystem::create_directory(ours / "orphan0of0an0earlier");
  auto swept = backend_->sweep({});
  EXPECT_EQ(swept.result["removed"], json::array({"orphan0of0an0earlier"}));
  EXPECT_TRUE(std::filesystem::exists(odd) && std::filesystem::exists(neighbour));
  EXPECT_FALSE(std::filesystem::exists(ours / "orphan0of0an0earlier"));
  ::rmdir(odd.c_str());
  ::rmdir(neighbour.c_str());
}

}  // namespace
}  // namespace harena::container::testing
