// Options that weaken a sandbox: refused by name unless the operator allows them, and told when they are used.

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "plugins/container/tests/container_case.hpp"

namespace harena::container::testing {
namespace {

namespace fs = std::filesystem;

class Weakening : public ContainerCase {
 protected:
  void SetUp() override {
    ContainerCase::SetUp();
    if (IsSkipped()) return;
    char pattern[] = "/tmp/harena-weak-XXXXXX";
    root_ = ::mkdtemp(pattern);
    fs::create_directories(root_ / "roots/data");
    fs::create_directories(root_ / "outside");
    std::ofstream(root_ / "roots/data/file") << "content";
    ::chmod((root_ / "roots/data/file").c_str(), 0600);
    std::ofstream(root_ / "outside/secret") << "secret";
    fs::create_symlink(root_ / "outside", root_ / "roots/link");
    fs::create_symlink("../outside", root_ / "roots/relative");
    // A set-uid program in a host folder raises nobody inside.
    fs::copy_file("/usr/bin/busybox", root_ / "roots/data/suid");
    ::chmod((root_ / "roots/data/suid").c_str(), 04755);
    backend_ = std::make_unique<Backend>(json{{"allow", {"host_mounts", "capability:net_raw", "privileged"}}, {"host_mount_roots", {(root_ / "roots").string()}}});
  }
  void TearDown() override {
    if (!root_.empty()) fs::remove_all(root_);
  }
  json mount(const std::string& source, const std::string& target = "/data") {
    return {{"mounts", {{{"source", source}, {"target", target}}}}};
  }
  Outcome refused(json params) { return backend_->create(new_id(), std::move(params)); }

  fs::path root_;
};

TEST_F(Weakening, FolderOfTheHostReadOnly) {
  const std::string id = made(mount(root_ / "roots/data", "/mnt/deep/data"));
  auto result = backend_->shell(id, "cat /mnt/deep/data/file; stat -c ' %u:%g' /mnt/deep/data/file; echo x > /mnt/deep/data/new; touch /mnt/deep/data/file; rm -f /mnt/deep/data/file; mount -o remount,rw /mnt/deep/data");
  EXPECT_EQ(result.output.find("content 0:0\n"), 0u) << result.output;
  EXPECT_EQ(read_text(root_ / "roots/data/file"), "content");
  EXPECT_FALSE(fs::exists(root_ / "roots/data/new"));
  EXPECT_EQ(backend_->shell(id, "grep /mnt/deep/data /proc/mounts | grep -o ' ro,nosuid,nodev'").output, " ro,nosuid,nodev\n");
  bool told = false;
  for (const auto& event : backend_->events()) told = told || (event["type"] == "sandbox_weakened" && event["sandbox_id"] == id);
  EXPECT_TRUE(told);
}

TEST_F(Weakening, OnlyBelowARootAndThroughNoLink) {
  for (const std::string& source : std::vector<std::string>{root_ / "outside", root_ / "roots/link", root_ / "roots/link/secret", root_ / "roots/relative",
                                                            root_ / "rootsmore", "/etc", "/proc/1/root"}) {
    auto outcome = refused(mount(source));
    EXPECT_EQ(outcome.status, HARENA_PERMISSION_DENIED) << source << ": " << outcome.message;
    EXPECT_NE(outcome.message.find("parameter 'mounts'"), std::string::npos) << outcome.message;
    EXPECT_NE(outcome.message.find("'" + source + "'"), std::string::npos) << outcome.message;
  }
  EXPECT_EQ(refused(mount(root_ / "roots/nothing")).status, HARENA_INVALID_ARGUMENT);
  EXPECT_EQ(refused(mount(root_ / "roots/data/file")).status, HARENA_INVALID_ARGUMENT);
  for (const std::string& bad : std::vector<std::string>{root_ / "roots/../outside", root_ / "roots//data", "relative", "/", root_ / "roots/./data"}) {
    EXPECT_EQ(refused(mount(bad)).status, HARENA_INVALID_ARGUMENT) << bad;
  }
  for (const char* target : {"/proc/x", "/dev/trusted", "/sys", "data", "/", "/a/../b"}) {
    EXPECT_EQ(refused(mount(root_ / "roots/data", target)).status, HARENA_INVALID_ARGUMENT) << target;
  }
}

/// A root of its own for writing: bound onto itself, since what it is mounted with counts.
class Writable : public Weakening {
 protected:
  void SetUp() override {
    Weakening::SetUp();
    if (IsSkipped()) return;
    out_ = root_ / "out";
    fs::create_directories(out_ / "below");
    fs::create_directories(root_ / "suid");
    ASSERT_EQ(::mount(out_.c_str(), out_.c_str(), nullptr, MS_BIND, nullptr), 0);
    ASSERT_EQ(::mount(nullptr, out_.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV, nullptr), 0);
    backend_ = std::make_unique<Backend>(json{{"allow", {"host_mounts"}},
                                              {"host_mount_roots", {{{"path", root_.string()}}, {{"path", out_.string()}, {"writable", true}},
                                                                    {{"path", (root_ / "suid").string()}, {"writable", true}}}}});
  }
  void TearDown() override {
    if (!out_.empty()) ::umount2(out_.c_str(), MNT_DETACH);
    Weakening::TearDown();
  }
  json writable(const std::string& source) {
    json params = mount(source);
    params["mounts"][0]["writable"] = true;
    return params;
  }

  fs::path out_;
};

TEST_F(Writable, OwnersAreRightOnBothSides) {
  const std::string id = made(writable(out_ / "below"));
  auto result = backend_->shell(id, "echo written > /data/new; mkdir /data/of-user; chown 1000:1000 /data/of-user; stat -c %u:%g /data/new /data/of-user");
  EXPECT_EQ(result.output, "0:0\n1000:1000\n");
  EXPECT_EQ(read_text(out_ / "below/new"), "written\n");
  struct stat info{};
  ASSERT_EQ(::stat((out_ / "below/new").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 0u);
  ASSERT_EQ(::stat((out_ / "below/of-user").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 1000u);
  EXPECT_EQ(backend_->shell(id, "grep ' /data ' /proc/mounts | grep -o 'rw,nosuid,nodev'").output, "rw,nosuid,nodev\n");
  EXPECT_NE(backend_->shell(id, "mknod /data/disk b 8 0; mknod /data/null c 1 3").exit, 0);
  std::string told;
  for (const auto& event : backend_->events()) told += event.value("detail", "");
  EXPECT_NE(told.find("writable"), std::string::npos) << told;
}

TEST_F(Writable, OnlyWhereTheOperatorSaysSo) {
  auto outcome = refused(writable(root_ / "roots/data"));
  EXPECT_EQ(outcome.status, HARENA_PERMISSION_DENIED);
  EXPECT_NE(outcome.message.find("\"writable\": true"), std::string::npos) << outcome.message;
  const std::string id = made(mount(out_));
  EXPECT_NE(backend_->shell(id, "echo x > /data/new").exit, 0) << "not asked for";
  json odd = writable(out_);
  odd["mounts"][0]["writable"] = "yes";
  EXPECT_EQ(refused(odd).status, HARENA_INVALID_ARGUMENT);
}

/// What root inside writes is root's outside.
TEST_F(Writable, NotWhereASetUidFileWouldCountOutside) {
  auto outcome = refused(writable(root_ / "suid"));
  EXPECT_EQ(outcome.status, HARENA_FAILED_PRECONDITION);
  EXPECT_NE(outcome.message.find("nosuid"), std::string::npos) << outcome.message;
}

/// While it is being looked up, the folder is swapped for a link that leads out, and back.
TEST_F(Weakening, ASwappedLinkLeadsNowhere) {
  const fs::path flip = root_ / "roots/flip", real = root_ / "roots/real", bait = root_ / "roots/bait";
  fs::create_directory(real);
  std::ofstream(real / "secret") << "harmless";
  fs::create_symlink(root_ / "outside", bait);
  std::atomic<bool> over = false;
  std::thread swapping([&] {
    while (!over) {
      ::rename(real.c_str(), flip.c_str());
      ::rename(flip.c_str(), real.c_str());
      ::rename(bait.c_str(), flip.c_str());
      ::rename(flip.c_str(), bait.c_str());
    }
  });
  const int rounds = std::getenv("HARENA_LONG_TESTS") != nullptr ? 500 : 40;
  for (int i = 0; i < rounds; ++i) {
    const std::string id = new_id();
    auto outcome = backend_->create(id, mount(flip));
    if (outcome.status != HARENA_OK) {
      EXPECT_TRUE(outcome.status == HARENA_PERMISSION_DENIED || outcome.status == HARENA_INVALID_ARGUMENT) << outcome.message;
      continue;
    }
    EXPECT_EQ(backend_->shell(id, "cat /data/secret").output, "harmless");
    EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
  }
  over = true;
  swapping.join();
}

TEST_F(Weakening, ExtraCapabilities) {
  const std::string plain = made();
  EXPECT_EQ(backend_->run(plain, {"attack", "raw_socket"}).output, "raw_socket=1\n");
  const std::string id = made({{"capabilities", {"CAP_NET_RAW"}}});
  EXPECT_EQ(backend_->run(id, {"attack", "raw_socket"}).output, "raw_socket=0\n");
  auto outcome = refused({{"capabilities", {"net_raw", "sys_admin"}}});
  EXPECT_EQ(outcome.status, HARENA_PERMISSION_DENIED);
  EXPECT_NE(outcome.message.find("capability:sys_admin"), std::string::npos) << outcome.message;
  EXPECT_EQ(refused({{"capabilities", {"net_rew"}}}).status, HARENA_INVALID_ARGUMENT);
}

TEST_F(Weakening, WithoutAnAllowanceEachIsRefusedByName) {
  backend_ = std::make_unique<Backend>();
  const std::vector<std::pair<json, std::string>> cases = {
      {{{"privileged", true}}, "privileged"}, {{{"devices", {"/dev/kvm"}}}, "devices"}, {{{"docker", true}}, "docker"},
      {{{"nested_user_namespaces", true}}, "nested_user_namespaces"}, {mount(root_ / "roots/data"), "host_mounts"},
      {{{"capabilities", {"net_raw"}}}, "capability:net_raw"}};
  for (const auto& [params, named] : cases) {
    auto outcome = refused(params);
    EXPECT_EQ(outcome.status, HARENA_PERMISSION_DENIED) << params;
    EXPECT_NE(outcome.message.find(named), std::string::npos) << outcome.message;
    EXPECT_NE(outcome.message.find("allow"), std::string::npos) << outcome.message;
  }
  EXPECT_EQ(backend_->event_count(), 0u);
}

TEST_F(Weakening, AllowedAndNotBuiltSaysSo) {
  auto outcome = refused({{"privileged", true}});
  EXPECT_EQ(outcome.status, HARENA_UNIMPLEMENTED);
  EXPECT_NE(outcome.message.find("privileged"), std::string::npos);
  for (const json& nothing : std::vector<json>{{{"privileged", false}}, {{"devices", json::array()}}, {{"mounts", json::array()}}}) {
    EXPECT_EQ(backend_->create(new_id(), nothing).status, HARENA_OK) << nothing;
  }
  for (const json& odd : std::vector<json>{{{"privileged", 1}}, {{"devices", "x"}}, {{"mounts", {1}}}, {{"mounts", {{{"source", "/a"}}}}}}) {
    EXPECT_EQ(refused(odd).status, HARENA_INVALID_ARGUMENT) << odd;
  }
}

}  // namespace
}  // namespace harena::container::testing
