#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "sdk/support/cgroup_tree.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/process.hpp"

namespace harena {
namespace {

MountEntry mount(const char* point, const char* type, const char* options) { return {"/", point, "rw", type, "x", options}; }

TEST(CgroupLayout, Unified) {
  auto layout = cgroup_layout_from({mount("/sys/fs/cgroup", "cgroup2", "rw")}, "cpuset cpu io memory pids\n");
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->mode, CgroupLayout::Mode::unified);
  EXPECT_EQ(layout->v2_root, "/sys/fs/cgroup");
  EXPECT_EQ(layout->v2_controllers.count("memory"), 1u);
}

TEST(CgroupLayout, HybridWithSharedHierarchies) {
  auto layout = cgroup_layout_from({mount("/sys/fs/cgroup/unified", "cgroup2", "rw"), mount("/sys/fs/cgroup/cpu,cpuacct", "cgroup", "rw,cpu,cpuacct"),
                                    mount("/sys/fs/cgroup/memory", "cgroup", "rw,memory"), mount("/sys/fs/cgroup/systemd", "cgroup", "rw,xattr,name=systemd")}, "\n");
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->mode, CgroupLayout::Mode::hybrid);
  EXPECT_EQ(layout->v1_roots.at("cpu"), layout->v1_roots.at("cpuacct"));
  EXPECT_EQ(layout->v1_roots.at("memory"), "/sys/fs/cgroup/memory");
  EXPECT_EQ(layout->v1_roots.size(), 3u);
}

TEST(CgroupLayout, WithoutV2IsAnErrorThatHelps) {
  auto layout = cgroup_layout_from({mount("/sys/fs/cgroup/memory", "cgroup", "rw,memory")}, "");
  EXPECT_EQ(layout.error().code, ErrorCode::failed_precondition);
  EXPECT_NE(layout.error().message.find("mount -t cgroup2"), std::string::npos);
}

TEST(CgroupStat, Keys) {
  EXPECT_EQ(cgroup_stat("populated 1\nfrozen 0\n", "frozen").value(), 0);
  EXPECT_EQ(cgroup_stat("oom 3\noom_kill 2\n", "oom_kill").value(), 2);
  EXPECT_EQ(cgroup_stat("oom_kill 2\n", "oom").error().code, ErrorCode::not_found);
}

/// On this host's own cgroups, in an instance of its own.
class Cgroups : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "cgroups need root";
    auto layout = detect_cgroups();
    if (!layout.ok()) GTEST_SKIP() << layout.error().message;
    auto tree = CgroupTree::open(*layout, "harena", "support-test-" + std::to_string(::getpid()));
    if (!tree.ok()) GTEST_SKIP() << "this host doesn't let us make cgroups: " << tree.error().message;
    tree_ = std::make_unique<CgroupTree>(std::move(*tree));
    for (const auto& [limit, why] : tree_->unavailable_limits()) {
      if (limit == "cpu" || limit == "memory" || limit == "swap" || limit == "pids") GTEST_SKIP() << limit << ": " << why;
    }
  }
  void TearDown() override {
    if (!tree_) return;
    EXPECT_TRUE(tree_->remove_sandbox("box", deadline()).ok());
    EXPECT_TRUE(tree_->remove_instance().ok());
  }
  static std::int64_t deadline() { return monotonic_now_ns() + 10'000'000'000; }
  Result<SandboxGroups> make() {
    CgroupLimits limits;
    limits.memory_bytes = 64 << 20;
    limits.pids = 10;
    limits.cpu_millicores = 500;
    return tree_->make_sandbox("box", limits, {});
  }
  /// A child in the group that forks another, both sleeping.
  pid_t inhabitant(int v2) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      if (!write_file_at(v2, "cgroup.procs", "0").ok()) ::_exit(1);
      ::fork();
      while (true) ::pause();
    }
    auto group = tree_->open_sandbox("box");
    while (group->processes().value_or({}).size() < 2) {
    }
    return pid;
  }
  std::unique_ptr<CgroupTree> tree_;
};

TEST_F(Cgroups, MakeUseRemove) {
  auto groups = make();
  ASSERT_TRUE(groups.ok()) << groups.error().message;
  EXPECT_EQ(make().error().code, ErrorCode::already_exists);
  EXPECT_EQ(tree_->sandboxes().value(), (std::set<std::string>{"box"}));
  auto usage = tree_->usage("box");
  ASSERT_TRUE(usage.ok());
  EXPECT_TRUE(usage->cpu_ns && usage->memory_bytes && usage->pids && usage->oom_kills);
  EXPECT_TRUE(tree_->remove_sandbox("box", deadline()).ok());
  EXPECT_TRUE(tree_->remove_sandbox("box", deadline()).ok());
  EXPECT_EQ(tree_->usage("box").error().code, ErrorCode::not_found);
}

TEST_F(Cgroups, ABlankBecomesASandboxAndIsFoundByItsName) {
  ASSERT_TRUE(tree_->make_blank("blank-1").ok());
  EXPECT_FALSE(tree_->make_blank("blank-1").ok());
  EXPECT_EQ(tree_->sandboxes().value(), std::set<std::string>{"blank-1"});
  CgroupLimits limits;
  limits.pids = 10;
  auto groups = tree_->adopt_blank("blank-1", "box", limits, {});
  ASSERT_TRUE(groups.ok()) << groups.error().describe();
  EXPECT_EQ(tree_->adopt_blank("blank-2", "other", limits, {}).error().code, ErrorCode::not_found);
  // A daemon that starts now knows as much.
  auto again = CgroupTree::open(detect_cgroups().value(), "harena", "support-test-" + std::to_string(::getpid()));
  ASSERT_TRUE(again.ok());
  for (const auto* tree : {tree_.get(), &*again}) {
    EXPECT_EQ(tree->sandboxes().value(), std::set<std::string>{"box"});
    EXPECT_EQ(tree->platforms().value(), std::set<std::string>{"box"});
    EXPECT_TRUE(tree->open_sandbox("box").ok() && tree->open_platform("box").ok() && tree->usage("box").ok());
  }
  EXPECT_TRUE(again->remove_sandbox("box", deadline()).ok());
  EXPECT_TRUE(again->remove_platform("box", deadline()).ok());
  EXPECT_TRUE(again->sandboxes()->empty() && again->platforms()->empty());
  EXPECT_FALSE(again->open_sandbox("box").ok());
}

TEST_F(Cgroups, FreezeThawKill) {
  auto groups = make();
  ASSERT_TRUE(groups.ok());
  const pid_t pid = inhabitant(groups->v2.get());
  auto group = tree_->open_sandbox("box");
  ASSERT_TRUE(group->freeze(deadline()).ok());
  EXPECT_TRUE(group->frozen().value());
  ASSERT_TRUE(group->thaw(deadline()).ok());
  EXPECT_FALSE(group->frozen().value());
  ASSERT_TRUE(group->freeze(deadline()).ok());
  EXPECT_EQ(remove_cgroup(groups->v2.get(), "../box").error().code, ErrorCode::failed_precondition);
  ASSERT_TRUE(group->kill_all(deadline()).ok());
  ::waitpid(pid, nullptr, 0);
  EXPECT_FALSE(group->populated().value());
}

TEST_F(Cgroups, OneDaemonAnInstance) {
  auto held = tree_->lock();
  ASSERT_TRUE(held.ok());
  auto second = tree_->lock();
  EXPECT_EQ(second.error().code, ErrorCode::failed_precondition);
  held->reset();
  EXPECT_TRUE(tree_->lock().ok());
}

TEST_F(Cgroups, BadNames) {
  for (const std::string name : {"", ".", "..", "a/b", "platform"}) {
    EXPECT_EQ(tree_->make_sandbox(name, {}, {}).error().code, ErrorCode::invalid_argument) << name;
  }
}

TEST_F(Cgroups, LimitsThatTheKernelRefusesLeaveNothing) {
  CgroupLimits limits;
  limits.memory_bytes = 64 << 20;
  limits.pids = -5;
  auto groups = tree_->make_sandbox("box", limits, {});
  EXPECT_EQ(groups.error().code, ErrorCode::failed_precondition);
  EXPECT_NE(groups.error().message.find("'pids'"), std::string::npos) << groups.error().message;
  EXPECT_TRUE(tree_->sandboxes().value().empty());
  auto allowed = tree_->make_sandbox("box", limits, {"pids"});
  ASSERT_TRUE(allowed.ok());
  EXPECT_EQ(allowed->missing, std::vector<std::string>{"pids"});
}

}  // namespace
}  // namespace harena
