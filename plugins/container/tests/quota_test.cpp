// Disks by project quota. Only where TMPDIR is on a file system with project quotas: tests/system runs these in the test VM, on ext4 and XFS.

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

#include "plugins/container/tests/container_case.hpp"
#include "sdk/support/process.hpp"
#include "sdk/support/project_quota.hpp"

namespace harena::container::testing {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

class Quota : public ContainerCase {
 protected:
  void SetUp() override {
    ContainerCase::SetUp();
    if (IsSkipped()) return;
    auto quota = ProjectQuota::open(backend_->folder().string());
    if (!quota.ok()) GTEST_SKIP() << quota.error().message;
    quota_ = std::make_unique<ProjectQuota>(std::move(*quota));
    backend_ = std::make_unique<Backend>(json{{"disk", "project-quota"}});
  }
  std::uint32_t project(const std::string& path) const {
    UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return quota_->project_of(file.get()).value_or(0);
  }
  std::int64_t kib(const std::string& id) {
    return std::atoll(backend_->shell(id, "df -k / | tail -n 1 | { read a total b; echo $total; }").output.c_str());
  }

  std::unique_ptr<ProjectQuota> quota_;
};

TEST_F(Quota, TheSizeHoldsAndIsShown) {
  const std::string id = made({{"disk", "64MiB"}, {"memory", "64MiB"}});
  EXPECT_FALSE(std::filesystem::exists(backend_->state_dir(id) / "d"));
  EXPECT_GE(kib(id), 64 * 1024);
  EXPECT_LE(kib(id), 64 * 1024 * 101 / 100);
  auto full = backend_->shell(id, "dd if=/dev/zero of=/fill bs=1M count=200; echo exit $?; stat -c %s /fill");
  EXPECT_NE(full.output.find("exit 1"), std::string::npos) << full.output;
  EXPECT_TRUE(full.output.find("No space left") != std::string::npos || full.output.find("quota exceeded") != std::string::npos) << full.output;
  EXPECT_EQ(backend_->usage(id).result.value("oom_kills", -1), 0);
  const auto used = backend_->usage(id).result.value("disk_bytes", std::int64_t{0});
  EXPECT_GT(used, 60 * kMiB);
  EXPECT_LE(used, 65 * kMiB);
  EXPECT_EQ(backend_->shell(id, "rm /fill; echo again > /f && cat /f").output, "again\n");
}

TEST_F(Quota, InodesRunOut) {
  const std::string id = made({{"disk", "64MiB"}, {"inodes", 300}});
  auto result = backend_->shell(id, "mkdir /d; i=0; while [ $i -lt 400 ]; do echo > /d/$i || break; i=$((i+1)); done; echo made $i");
  const std::int64_t files = std::atoll(result.output.c_str() + result.output.rfind("made ") + 5);
  EXPECT_GE(files, 280);
  EXPECT_LE(files, 310);
}

TEST_F(Quota, RootInsideChangesNoProject) {
  const std::string id = made({{"disk", "64MiB"}});
  backend_->shell(id, "echo x > /file; mkdir /folder; echo y > /folder/below");
  const std::string upper = (backend_->state_dir(id) / "u").string();
  const std::uint32_t own = last_["details"]["first_id"];
  for (const char* path : {"", "/file", "/folder", "/folder/below"}) EXPECT_EQ(project(upper + path), own) << path;
  // What would be a way out of the count: files that came from elsewhere, links. (Changing the project is refused by seccomp, and by the
  // kernel: tests/incidents row 5, tests/system.)
  backend_->shell(id, "mv /file /folder/moved; ln /folder/below /linked; cp -a /etc/passwd /copied");
  for (const char* path : {"/folder/moved", "/linked", "/copied", "/etc/passwd"}) {
    if (!std::filesystem::exists(upper + path)) continue;
    EXPECT_EQ(project(upper + path), own) << path;
  }
}

TEST_F(Quota, ResizesBothWays) {
  const std::string id = made({{"disk", "64MiB"}});
  ASSERT_EQ(backend_->shell(id, "dd if=/dev/zero of=/held bs=1M count=40 2>/dev/null; sync").exit, 0);
  ASSERT_EQ(backend_->resize(id, {{"disk", "64MiB"}}, {{"disk", "200MiB"}}).status, HARENA_OK);
  EXPECT_GE(kib(id), 200 * 1024);
  EXPECT_EQ(backend_->shell(id, "dd if=/dev/zero of=/more bs=1M count=100 2>/dev/null && rm /more && echo fits").output, "fits\n");
  auto refused = backend_->resize(id, {{"disk", "200MiB"}}, {{"disk", "20MiB"}, {"pids", 9}});
  EXPECT_EQ(refused.status, HARENA_FAILED_PRECONDITION);
  EXPECT_EQ(refused.cause_detail, "disk");
  ASSERT_EQ(backend_->resize(id, {{"disk", "200MiB"}}, {{"disk", "50MiB"}}).status, HARENA_OK);
  EXPECT_LE(kib(id), 51 * 1024);
}

TEST_F(Quota, NothingIsLeftOfIt) {
  const std::string id = made({{"disk", "64MiB"}});
  const std::uint32_t own = last_["details"]["first_id"];
  backend_->shell(id, "dd if=/dev/zero of=/f bs=1M count=5 2>/dev/null");
  EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
  // XFS counts in a worker of its own.
  const std::int64_t deadline = monotonic_now_ns() + 60'000'000'000;
  while ((quota_->usage(own)->bytes != 0 || quota_->usage(own)->inodes != 0) && monotonic_now_ns() < deadline) ::usleep(5000);
  EXPECT_EQ(quota_->usage(own)->bytes, 0);
  EXPECT_EQ(quota_->usage(own)->inodes, 0);
}

TEST_F(Quota, AChildPaysForItselfAlone) {
  const std::string id = made({{"disk", "64MiB"}});
  const std::uint32_t own = last_["details"]["first_id"];
  ASSERT_EQ(backend_->shell(id, "dd if=/dev/zero of=/held bs=1M count=40 2>/dev/null").exit, 0);
  const std::string child = new_id();
  const auto forked = backend_->fork(id, {child}, {{"disk", "64MiB"}});
  ASSERT_EQ(forked.status, HARENA_OK) << forked.message;
  EXPECT_EQ(forked.result.at(0).value(json::json_pointer("/details/fork/how"), ""), "copied");
  const std::uint32_t childs = forked.result.at(0).at("details").at("first_id");
  ASSERT_NE(childs, own);
  EXPECT_EQ(project((backend_->state_dir(child) / "u").string()), childs);
  EXPECT_LT(backend_->usage(child).result.value("disk_bytes", std::int64_t{-1}), 4 * kMiB);
  EXPECT_EQ(backend_->shell(child, "stat -c %s /held; dd if=/dev/zero of=/more bs=1M count=50 2>/dev/null && echo fits").output, "41943040\nfits\n");
  EXPECT_NE(backend_->shell(child, "dd if=/dev/zero of=/toomuch bs=1M count=30 2>/dev/null").exit, 0);
  EXPECT_NE(backend_->shell(id, "dd if=/dev/zero of=/toomuch bs=1M count=30 2>/dev/null").exit, 0) << "the source pays for what it wrote";
}

TEST_F(Quota, HoldsInTheRootOfARollback) {
  const std::string id = made({{"disk", "64MiB"}});
  const std::uint32_t own = last_["details"]["first_id"];
  ASSERT_EQ(backend_->shell(id, "dd if=/dev/zero of=/held bs=1M count=20 2>/dev/null").exit, 0);
  const std::string name = new_id();
  const auto taken = backend_->snapshot(id, name);
  ASSERT_EQ(taken.status, HARENA_OK) << taken.message;
  ASSERT_EQ(backend_->shell(id, "rm /held; dd if=/dev/zero of=/more bs=1M count=50 2>/dev/null").exit, 0);
  const auto back = backend_->rollback(id, taken.result.at("state"));
  ASSERT_EQ(back.status, HARENA_OK) << back.message;
  EXPECT_EQ(backend_->shell(id, "ls /more 2>/dev/null; stat -c %s /held").output, "20971520\n");
  EXPECT_EQ(project((backend_->state_dir(id) / "u1").string()), own);
  EXPECT_LT(backend_->usage(id).result.value("disk_bytes", std::int64_t{-1}), 4 * kMiB);
  EXPECT_EQ(backend_->shell(id, "dd if=/dev/zero of=/again bs=1M count=50 2>/dev/null && mv /again /moved && echo fits").output, "fits\n");
  EXPECT_NE(backend_->shell(id, "dd if=/dev/zero of=/toomuch bs=1M count=30 2>/dev/null").exit, 0);
  EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
  EXPECT_EQ(backend_->drop_snapshot(name).status, HARENA_OK);
}

TEST(QuotaSetting, IsRefusedWhereThereAreNone) {
  if (!Backend::why_not().empty()) GTEST_SKIP() << Backend::why_not();
  Backend backend(json{{"disk", "project-quota"}});
  if (ProjectQuota::open(backend.folder().string()).ok()) GTEST_SKIP() << "this file system has project quotas";
  auto outcome = backend.create(new_id(), {{"disk", "64MiB"}});
  EXPECT_EQ(outcome.status, HARENA_FAILED_PRECONDITION);
  EXPECT_NE(outcome.message.find("prjquota"), std::string::npos) << outcome.message;
}

}  // namespace
}  // namespace harena::container::testing
