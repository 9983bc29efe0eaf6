#include "sdk/vmm/control_client.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace harena::vmm {
namespace {

namespace fs = std::filesystem;

class ControlClient : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/control_client_XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  void TearDown() override { fs::remove_all(folder_); }
  /// A machine's process in shell.
  std::string program(const std::string& script) const {
    const std::string path = folder_ + "/program";
    std::ofstream(path) << "#!/bin/sh\n" << script;
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  std::string folder_;
};

TEST_F(ControlClient, AProcessGetsWhatItIsGivenAndNothingThatLeaked) {
  const UniqueFd given(::memfd_create("is-given", MFD_CLOEXEC)), leaked(::memfd_create("leaked", MFD_CLOEXEC));
  // As of a starter that forgot it: no CLOEXEC, right behind what is given, and far above.
  const UniqueFd near(::fcntl(leaked.get(), F_DUPFD, 5)), far(::fcntl(leaked.get(), F_DUPFD, 700));
  const std::string list = folder_ + "/list";
  auto started = start_machine_process(program("ls -l /proc/$$/fd > $2; echo '{\"ok\": {}}' >&3\n"), list, {given.get()},
      [] { return Status(); });
  ASSERT_TRUE(started.ok()) << started.error().message;
  ::waitpid(started->process.pid, nullptr, 0);
  std::ifstream file(list);
  const std::string seen{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(seen.find("4 -> /memfd:is-given"), std::string::npos) << seen;
  EXPECT_EQ(seen.find("leaked"), std::string::npos) << seen;
}

TEST_F(ControlClient, AProcessThatEndsUnreadyIsTold) {
  auto started = start_machine_process(program("exit 3\n"), "unused", {}, [] { return Status(); });
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace harena::vmm
