// The fake with a real harena-shim: session "host".

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "sdk/base/unique_fd.hpp"
#include "sdk/conformance/drivers.hpp"

extern "C" const harena_plugin_descriptor* harena_plugin_entry_fake();

namespace harena::fake {
namespace {

using conformance::BackendDriver;
using nlohmann::json;

bool accepts(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  return ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
}

class ShimSession : public testing::Test {
 protected:
  void SetUp() override {
    shim = std::string(std::getenv("HARENA_BUILD_DIR")) + "/bin/harena-shim";
    if (!std::filesystem::exists(shim)) GTEST_SKIP() << "this build has no harena-shim";
    std::string pattern = testing::TempDir() + "harena-fake-XXXXXX";
    dir = ::mkdtemp(pattern.data());
    start();
  }
  void TearDown() override {
    if (driver) (void)driver->stop("a");
    instance.reset();
    if (!dir.empty()) std::filesystem::remove_all(dir);
  }
  void start() {
    instance.reset();
    auto library = loader::Library::from_descriptor(harena_plugin_entry_fake());
    auto made = (*library)->create(nullptr, {{"state_dir", dir + "/state"}, {"shim", shim}});
    ASSERT_TRUE(made.ok()) << made.error().describe();
    instance = *std::move(made);
    driver.emplace(*BackendDriver::of(*instance));
  }
  std::string create() {
    std::filesystem::create_directories(dir + "/run");
    json request = {{"sandbox_id", "a"}, {"run_dir", dir + "/run"}, {"state_dir", dir}, {"params", {{"session", "host"}}}, {"layers", json::array()}};
    auto made = driver->create(request);
    EXPECT_TRUE(made.ok()) << made.error().describe();
    return made.ok() ? (*made)["session_endpoint"].get<std::string>() : "";
  }
  pid_t shim_pid() {
    std::ifstream file(dir + "/state/sandboxes/a.json");
    return json::parse(file)["session"]["pid"];
  }

  std::string dir, shim;
  std::unique_ptr<loader::Instance> instance;
  std::optional<BackendDriver> driver;
};

TEST_F(ShimSession, OutlivesTheHostAndEndsWithStop) {
  std::string endpoint = create();
  EXPECT_TRUE(accepts(endpoint));
  start();
  json found = *driver->recover("a", "");
  EXPECT_EQ("running", found["status"]);
  EXPECT_EQ(endpoint, found["session_endpoint"]);
  EXPECT_TRUE(accepts(endpoint));
  pid_t pid = shim_pid();
  EXPECT_TRUE(driver->stop("a").ok());
  EXPECT_FALSE(accepts(endpoint));
  EXPECT_EQ(-1, ::kill(pid, 0));
}

TEST_F(ShimSession, AShimThatDiedIsGone) {
  create();
  pid_t pid = shim_pid();
  ::kill(pid, SIGKILL);
  // Dead at once, though not reaped yet: that is the recovery's to see.
  for (int i = 0; i < 1000 && (*driver->recover("a", ""))["status"] != "gone"; ++i) ::usleep(1000);
  EXPECT_EQ("gone", (*driver->recover("a", ""))["status"]);
  EXPECT_TRUE(driver->stop("a").ok());
}

}  // namespace
}  // namespace harena::fake
