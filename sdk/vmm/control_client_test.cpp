#include "sdk/vmm/control_client.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string_view>

#include "sdk/support/process.hpp"
#include "sdk/vmm/control_server.hpp"

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

UniqueFd connect_and_say(const std::string& path, std::string_view text) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  return socket;
}

TEST_F(ControlClient, AVerbWhoseCallerHasGoneIsntBegun) {
  auto loop = *EventLoop::make();
  const std::string path = folder_ + "/machine.sock";
  auto server = ControlServer::listen(*loop, path);
  ASSERT_TRUE(server.ok()) << server.error().message;
  auto impatient = connect_and_say(path, R"({"verb": "pause"})");
  const auto deadline = monotonic_now_ns() + 60'000'000'000;
  ASSERT_TRUE(loop->run_until([&] { return (*server)->waiting(); }, deadline, "a request").ok());
  impatient.reset();
  std::vector<std::string> begun;
  const auto verb = [&](const json& request) -> Result<json> {
    begun.push_back(request["verb"]);
    return json::object();
  };
  (*server)->serve(verb);
  EXPECT_FALSE((*server)->waiting());
  const auto patient = connect_and_say(path, R"({"verb": "status"})");
  ASSERT_TRUE(loop->run_until([&] { return (*server)->waiting(); }, deadline, "a request").ok());
  (*server)->serve(verb);
  EXPECT_EQ(begun, std::vector<std::string>{"status"});
  char answer[64];
  EXPECT_GT(::recv(patient.get(), answer, sizeof answer, MSG_DONTWAIT), 0);
}

}  // namespace
}  // namespace harena::vmm
