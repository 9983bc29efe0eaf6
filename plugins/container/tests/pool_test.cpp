// Sandboxes prepared in advance: what fills one, what doesn't, and that nothing stays of those that nobody needed.

#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "plugins/container/tests/census.hpp"
#include "plugins/container/tests/container_case.hpp"
#include "sdk/support/cgroup_layout.hpp"
#include "sdk/support/process.hpp"

namespace harena::container::testing {
namespace {
namespace fs = std::filesystem;

class Pool : public ContainerCase {
 protected:
  void SetUp() override {
    if (!reason().empty()) GTEST_SKIP() << reason();
    start(json{{"pool", 2}});
  }
  void start(json config) { backend_ = std::make_unique<Backend>(std::move(config)); }
  /// The first create has nothing to fill; afterwards the pool is filled.
  void warm_up() {
    const std::string id = made();
    EXPECT_FALSE(prepared());
    EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
    backend_->await_blanks(2);
  }
  bool prepared() const { return last_["details"].value("prepared", false); }
  bool prepared_root() const { return last_["details"].value("prepared_root", false); }
  std::uint64_t count_made() const { return backend_->probe().result["facts"]["pool"]["made"].get<std::uint64_t>(); }
  void await_made(std::uint64_t count) const {
    const std::int64_t deadline = monotonic_now_ns() + 60'000'000'000;
    while (count_made() < count && monotonic_now_ns() < deadline) ::usleep(1000);
    EXPECT_GE(count_made(), count);
  }
  std::size_t stages() const {
    std::error_code gone;
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(backend_->folder() / "state" / ".container-blanks", gone), {}));
  }
  void await_stages(std::size_t count) const {
    const std::int64_t deadline = monotonic_now_ns() + 20'000'000'000;
    while (stages() != count && monotonic_now_ns() < deadline) ::usleep(1000);
    EXPECT_EQ(stages(), count);
  }
  fs::path platform() const {
    return fs::path(detect_cgroups().value().v2_root) / "harena" / backend_->instance() / "platform";
  }
  std::vector<fs::path> blank_groups() const {
    std::vector<fs::path> found;
    std::error_code gone;
    for (const auto& entry : fs::directory_iterator(platform(), gone)) {
      if (entry.path().filename().string().starts_with("blank-")) found.push_back(entry.path());
    }
    return found;
  }
  void expect_nothing_left(const std::set<std::string>& before) {
    const auto left = left_over(*backend_, before);
    EXPECT_TRUE(left.empty()) << *left.begin();
  }
};

TEST_F(Pool, APreparedOneBecomesWhatWasAskedFor) {
  warm_up();
  const std::string id =
      made({{"hostname", "chosen"}, {"memory", "48MiB"}, {"pids", 7}, {"env", {{"A", "b"}}}, {"tmpfs", {{"/scratch", "1MiB"}}}});
  EXPECT_TRUE(prepared());
  auto shown = backend_->shell(id, "hostname; cat /etc/hostname /etc/marker; echo $A $FROM_IMAGE; id -u;"
                                   "df /scratch | tail -1 | grep -c 1024; df /dev/shm | tail -1 | grep -c 65536");
  EXPECT_EQ(shown.output, "chosen\nchosen\nlower\nb yes\n0\n1\n1\n");
  EXPECT_NE(backend_->shell(id, "for i in 1 2 3 4 5 6 7 8 9; do sleep 5 & done").exit, 0) << "7 processes are the limit";
  auto usage = backend_->usage(id);
  EXPECT_EQ(usage.status, HARENA_OK);
  EXPECT_GT(usage.result["memory_bytes"], 0);
  EXPECT_EQ(backend_->pause(id).status, HARENA_OK);
  EXPECT_EQ(backend_->recover(id, last_["state"]).result["status"], "paused");
  EXPECT_EQ(backend_->resume(id).status, HARENA_OK);
}

TEST_F(Pool, ItHasTheRootThatWasWantedLast) {
  warm_up();
  const std::string id = made({{"hostname", "chosen"}});
  EXPECT_TRUE(prepared_root());
  EXPECT_EQ(backend_->shell(id, "cat /etc/hostname /etc/resolv.conf; tail -1 /etc/hosts; cat /etc/marker; ls -A / | grep -c staged").output,
            "chosen\n# no network\n127.0.1.1\tchosen\nlower\n0\n");
  // It is where every other's is, and can do what every other's can: rename, replace what is below, be written as a whole.
  EXPECT_EQ(backend_->shell(id, "echo x >/etc/marker; mkdir /d; mv /d /e; rm -r /bin/true; touch /e/f; ls -A /e; cat /etc/marker").output, "f\nx\n");
  EXPECT_EQ(read_text(backend_->state_dir(id) / "u" / "etc" / "marker"), "x\n");
  EXPECT_TRUE(fs::exists(backend_->state_dir(id) / "w"));
  EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
}

TEST_F(Pool, AnothersRootIsLeftBehind) {
  warm_up();
  for (const json& other : {json{{"disk", "16MiB"}}, json{{"readonly_rootfs", true}}}) {
    backend_->await_blanks(2);
    const std::string id = made(other);
    EXPECT_TRUE(prepared());
    EXPECT_FALSE(prepared_root()) << other;
    EXPECT_EQ(backend_->shell(id, "cat /etc/marker; cat /proc/1/comm; ls /dev/null; mount | grep -c staged").output, "lower\ninit\n/dev/null\n0\n");
    EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
  }
  backend_->await_blanks(2);
  made();
  EXPECT_TRUE(prepared_root());
  await_stages(2);
}

TEST_F(Pool, OtherLayersGetARootOfTheirOwn) {
  warm_up();
  backend_->use_image("sha256:other");
  const std::string first = made();
  EXPECT_TRUE(prepared());
  EXPECT_FALSE(prepared_root());
  EXPECT_EQ(backend_->shell(first, "cat /etc/marker /etc/hostname").output, "lower\n" + first + "\n");
  for (int i = 0; i < 2; ++i) {  // one for the old layers may be left
    backend_->await_blanks(2);
    made();
  }
  backend_->await_blanks(2);
  made();
  EXPECT_TRUE(prepared_root());
}

TEST_F(Pool, ItShowsTheCpusThatAreAskedFor) {
  warm_up();
  for (const int cpus : {1, 2, 1}) {
    backend_->await_blanks(2);
    const std::string id = made({{"cpu", cpus}});
    EXPECT_TRUE(prepared_root());
    const std::string count = std::to_string(std::min<long>(cpus, ::sysconf(_SC_NPROCESSORS_ONLN)));
    const std::string list = count == "1" ? "0\n" : "0-1\n";
    EXPECT_EQ(backend_->shell(id, "nproc; grep -c ^processor /proc/cpuinfo; cat /sys/devices/system/cpu/online").output, count + "\n" + count + "\n" + list);
  }
}

TEST_F(Pool, ASandboxOnAPreparedRootIsForkedAndRolledBack) {
  warm_up();
  const std::string source = made();
  ASSERT_TRUE(prepared_root());
  backend_->shell(source, "echo one >/new");
  const auto kept = backend_->snapshot(source, "kept");
  ASSERT_EQ(kept.status, HARENA_OK) << kept.message;
  backend_->shell(source, "echo two >/new; rm /etc/marker");
  const std::string child = new_id();
  auto forked = backend_->fork(source, {child});
  ASSERT_EQ(forked.status, HARENA_OK) << forked.message;
  EXPECT_EQ(backend_->shell(child, "cat /new; ls /etc/marker 2>&1 | grep -c such; cat /etc/hostname").output, "two\n1\n" + child + "\n");
  ASSERT_EQ(backend_->rollback(source, kept.result["state"]).status, HARENA_OK);
  EXPECT_EQ(backend_->shell(source, "cat /new /etc/marker").output, "one\nlower\n");
}

TEST_F(Pool, EachServesOneSandboxOnly) {
  warm_up();
  std::set<std::int64_t> inits;
  for (int i = 0; i < 6; ++i) {
    backend_->await_blanks(1);
    const std::string id = made();
    EXPECT_TRUE(prepared());
    EXPECT_TRUE(inits.insert(init_pid()).second);
    EXPECT_EQ(backend_->shell(id, "ls /root /tmp /dev/shm | grep -c left; touch /root/left /tmp/left /dev/shm/left").output, "0\n");
    EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
  }
}

TEST_F(Pool, TwoOfThemShareNothing) {
  warm_up();
  const std::string one = made();
  ASSERT_TRUE(prepared());
  const auto first = last_["details"]["first_id"];
  backend_->await_blanks(1);
  const std::string other = made();
  ASSERT_TRUE(prepared());
  EXPECT_NE(first, last_["details"]["first_id"]);
  const std::string look = "for n in net ipc uts pid mnt user cgroup; do readlink /proc/self/ns/$n; done";
  const std::string left = backend_->shell(one, look).output, right = backend_->shell(other, look).output;
  std::istringstream lines(left);
  for (std::string line; std::getline(lines, line);) EXPECT_EQ(right.find(line), std::string::npos) << line;
}

TEST_F(Pool, ARequestThatNoneFitsIsServedDirectly) {
  warm_up();
  const std::string id = made({{"shm", "1MiB"}});
  EXPECT_FALSE(prepared());
  EXPECT_EQ(backend_->shell(id, "df /dev/shm | tail -1 | grep -c 1024").output, "1\n");
}

TEST_F(Pool, ADeadOneIsNoticed) {
  warm_up();
  for (const auto& group : blank_groups()) {
    std::istringstream pids(read_text(group / "cgroup.procs"));
    for (pid_t pid; pids >> pid;) {
      auto held = open_process(process_ref(pid).value());
      ::kill(pid, SIGKILL);
      if (held.ok()) wait_process_end(held->get(), monotonic_now_ns() + 10'000'000'000);
    }
  }
  const std::string id = made();
  EXPECT_FALSE(prepared());
  EXPECT_EQ(backend_->run(id, {"true"}).exit, 0);
  backend_->await_blanks(2);  // others are made in their place
}

TEST_F(Pool, ADeadInitIsNoticed) {
  warm_up();
  for (const auto& group : blank_groups()) {
    std::istringstream pids(read_text(platform().parent_path() / group.filename() / "cgroup.procs"));
    for (pid_t pid; pids >> pid;) ::kill(pid, SIGKILL);
  }
  const std::string id = made();
  EXPECT_EQ(backend_->run(id, {"true"}).exit, 0);
}

TEST_F(Pool, ThoseThatWaitTakeNobodysPlace) {
  start(json{{"pool", 2}, {"id_ranges", 3}});
  warm_up();
  for (int i = 0; i < 3; ++i) made();
  auto one_more = backend_->create(new_id());
  EXPECT_EQ(one_more.status, HARENA_RESOURCE_EXHAUSTED) << one_more.message;
}

TEST_F(Pool, NothingStaysOfThem) {
  std::set<std::string> before = census(*backend_);
  warm_up();
  EXPECT_EQ(blank_groups().size(), 2u);
  await_stages(2);
  backend_->restart();
  expect_nothing_left(before);
  await_stages(0);
}

TEST_F(Pool, NobodyNeedsThemForAWhile) {
  start(json{{"pool", 2}, {"pool_idle_s", 1}});
  backend_->stop(made());
  // How many wait is no use here: on a slow machine they are ended before anybody has looked.
  await_made(1);
  const std::int64_t deadline = monotonic_now_ns() + 60'000'000'000;
  while (!blank_groups().empty() && monotonic_now_ns() < deadline) ::usleep(1000);
  EXPECT_TRUE(blank_groups().empty());
  await_stages(0);
  const std::uint64_t before = count_made();
  made();
  EXPECT_FALSE(prepared());
  await_made(before + 1);  // it begins anew
}

TEST_F(Pool, AForksChildIsMadeOfOne) {
  warm_up();
  const std::string source = made();
  backend_->shell(source, "echo written >/new");
  backend_->await_blanks(2);
  const std::string child = new_id();
  auto forked = backend_->fork(source, {child});
  ASSERT_EQ(forked.status, HARENA_OK) << forked.message;
  EXPECT_TRUE(forked.result[0]["details"].value("prepared", false)) << forked.result.dump();
  EXPECT_EQ(backend_->shell(child, "cat /new").output, "written\n");
}

TEST_F(Pool, WithoutOneNothingIsPrepared) {
  start(json{{"pool", 0}});
  backend_->stop(made());  // what is made once
  const auto before = census(*backend_);
  backend_->stop(made());
  EXPECT_FALSE(prepared());
  EXPECT_TRUE(blank_groups().empty());
  expect_nothing_left(before);
}

TEST_F(Pool, GroupsOfAnEarlierLifeAreRemoved) {
  backend_->sweep({});  // the plugin has made its own groups
  const auto before = census(*backend_);
  fs::create_directory(platform() / "blank-1-1");
  const fs::path group = platform().parent_path() / "blank-1-1", stage = backend_->folder() / "state" / ".container-blanks" / "blank-1-1";
  fs::create_directory(group);
  fs::create_directories(stage / "u" / "etc");
  const std::string note = stage.string();
  ASSERT_EQ(::setxattr(group.c_str(), "trusted.harena.note", note.data(), note.size(), 0), 0);
  EXPECT_EQ(backend_->sweep({}).result["removed"], json::array()) << "no sandbox";
  expect_nothing_left(before);
}

/// Whoever dies, and whenever: the create is served directly, and nothing is left.
TEST_F(Pool, ADeathAtEachStep) {
  const fs::path file = backend_->folder() / "fault";
  ::setenv("HARENA_FAULT", ("@" + file.string()).c_str(), 1);
  start(json{{"pool", 1}});
  const std::set<std::string> before = census(*backend_);
  for (const std::string point : {"init.prepared", "builder.namespaces", "builder.blank", "builder.ordered", "builder.overlay",
                                  "init.joined", "init.named", "init.overlay", "init.staged", "builder.init", "builder.answered"}) {
    SCOPED_TRACE(point);
    std::string id = made();
    backend_->stop(id);
    backend_->await_blanks(1);
    if (HasFatalFailure()) break;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << point;
    id = made({{"disk", "16MiB"}});  // fills the blank, and lets another be made
    EXPECT_EQ(backend_->run(id, {"true"}).exit, 0) << point;
    EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
    // Points of the making of one: the pool's next, or a create that comes before it and fails of it.
    for (int i = 0; i < 100 && fs::exists(file); ++i) {
      id = new_id();
      (void)backend_->create(id);
      EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
    }
    EXPECT_FALSE(fs::exists(file)) << point << " wasn't reached";
    backend_->await_blanks(1);
  }
  ::unsetenv("HARENA_FAULT");
  backend_->restart();
  expect_nothing_left(before);
}

}  // namespace
}  // namespace harena::container::testing
