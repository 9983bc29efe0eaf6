// The container backend on this host: real sandboxes of a busybox image, driven through the plugin ABI.

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "plugins/container/tests/fixture.hpp"
#include "sdk/support/process.hpp"

namespace harena::container::testing {
namespace {

class Container : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { reason_ = new std::string(Backend::why_not()); }
  void SetUp() override {
    if (!reason_->empty()) GTEST_SKIP() << *reason_;
    backend_ = std::make_unique<Backend>();
  }
  std::string made(json params = json::object()) {
    const std::string id = new_id();
    auto outcome = backend_->create(id, std::move(params));
    EXPECT_EQ(outcome.status, HARENA_OK) << outcome.message;
    last_ = outcome.result;
    return id;
  }
  static inline std::string* reason_ = nullptr;
  std::unique_ptr<Backend> backend_;
  json last_;
};

TEST_F(Container, RunsAsRootInsideAndNobodyOutside) {
  const std::string id = made();
  auto result = backend_->shell(id, "id -u; hostname; cat /etc/marker; echo $FROM_IMAGE");
  EXPECT_EQ(result.output, "0\n" + id + "\nlower\nyes\n");
  EXPECT_EQ(result.exit, 0);
  struct stat info{};
  const pid_t init = last_["details"]["init_pid"];
  const auto status = read_text("/proc/" + std::to_string(init) + "/status");
  const auto first = std::to_string(last_["details"]["first_id"].get<std::uint32_t>());
  EXPECT_NE(status.find("Uid:\t" + first + "\t" + first), std::string::npos) << status;
  (void)info;
}

}  // namespace
}  // namespace harena::container::testing
