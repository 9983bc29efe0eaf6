// Folders of trusted tools that the operator configures: good ones are shown in every sandbox, bad ones fail the create with a reason.

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "plugins/container/tests/container_case.hpp"

namespace harena::container::testing {
namespace {

namespace fs = std::filesystem;

class Tools : public ContainerCase {
 protected:
  void SetUp() override {
    ContainerCase::SetUp();
    if (IsSkipped()) return;
    char pattern[] = "/tmp/harena-tools-XXXXXX";
    folder_ = ::mkdtemp(pattern);
    fs::copy_file("/usr/bin/busybox", folder_ / "busybox");
    fs::create_symlink("busybox", folder_ / "sh");
    backend_.reset();
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }
  void use(const fs::path& folder) { backend_ = std::make_unique<Backend>(json{{"tools_path", folder.string()}}); }
  void expect_failure(const std::string& named) {
    auto outcome = backend_->create(new_id());
    EXPECT_NE(outcome.status, HARENA_OK);
    EXPECT_NE(outcome.message.find(named), std::string::npos) << outcome.message;
  }
  fs::path folder_;
};

TEST_F(Tools, AreThereExecuteOnlyAndReadOnly) {
  use(folder_);
  const std::string id = made();
  EXPECT_EQ(backend_->shell(id, "/dev/trusted/sh -c 'echo from the tools'; ls /dev/trusted; stat -c %a /dev/trusted/busybox").output,
            "from the tools\nbusybox\nsh\n111\n");
  EXPECT_NE(backend_->shell(id, "cat /dev/trusted/busybox > /dev/null 2>&1").exit, 0);
  EXPECT_EQ(backend_->shell(id, "grep ' /dev/trusted ' /proc/mounts | cut -d' ' -f1,3,4 | cut -d, -f1-3").output, "tools tmpfs ro,nosuid,nodev\n");
}

TEST_F(Tools, ChangesOfTheFolderDontReachSandboxes) {
  use(folder_);
  const std::string id = made();
  fs::remove_all(folder_);
  EXPECT_EQ(backend_->shell(id, "/dev/trusted/sh -c 'echo still'").output, "still\n");
  EXPECT_EQ(backend_->shell(made(), "/dev/trusted/sh -c 'echo still'").output, "still\n");
}

TEST_F(Tools, BadFoldersFailTheCreate) {
  use(folder_ / "nothing");
  expect_failure("nothing");
  fs::create_symlink("/etc/passwd", folder_ / "outside");
  use(folder_);
  expect_failure("'outside'");
  fs::remove(folder_ / "outside");
  ::mkfifo((folder_ / "fifo").c_str(), 0600);
  use(folder_);
  expect_failure("'fifo'");
  fs::remove(folder_ / "fifo");
  fs::create_directory(folder_ / "folder");
  use(folder_);
  expect_failure("'folder'");
}

TEST_F(Tools, TooManyBytes) {
  std::ofstream(folder_ / "large") << "x";
  fs::resize_file(folder_ / "large", 65 << 20);
  use(folder_);
  expect_failure("64 MiB");
}

}  // namespace
}  // namespace harena::container::testing
