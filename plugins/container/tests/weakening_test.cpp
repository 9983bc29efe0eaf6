// Options that weaken a sandbox: refused by name unless the operator allows them, and told when they are used.

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

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
  }
  EXPECT_EQ(refused(mount(root_ / "roots/nothing")).status, HARENA_INVALID_ARGUMENT);
  EXPECT_EQ(refused(mount(root_ / "roots/data/file")).status, HARENA_INVALID_ARGUMENT);
  for (const std::string& bad : std::vector<std::string>{root_ / "roots/../outside", root_ / "roots//data", "relative", "/", root_ / "roots/./data"}) {
    EXPECT_EQ(refused(mount(bad)).status, HARENA_INVALID_ARGUMENT) << bad;
  }
  for (const char* target : {"/proc/x", "/dev/trusted", "/sys", "data", "/", "/a/../b"}) {
    EXPECT_EQ(refused(mount(root_ / "roots/data", target)).status, HARENA_INVALID_ARGUMENT) << target;
  }
  json writable = mount(root_ / "roots/data");
  writable["mounts"][0]["writable"] = true;
  EXPECT_EQ(refused(writable).status, HARENA_UNIMPLEMENTED);
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
