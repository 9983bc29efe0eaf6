#pragma once
// The base of the test suites with real sandboxes: skips with a sentence where this host can't.

#include "plugins/container/tests/fixture.hpp"

namespace harena::container::testing {

class ContainerCase : public ::testing::Test {
 protected:
  static const std::string& reason() {
    static const std::string kReason = Backend::why_not();
    return kReason;
  }
  void SetUp() override {
    if (!reason().empty()) GTEST_SKIP() << reason();
    backend_ = std::make_unique<Backend>();
  }
  /// A running sandbox's id; the result of its create is in last_.
  std::string made(json params = json::object()) {
    const std::string id = new_id();
    auto outcome = backend_->create(id, std::move(params));
    EXPECT_EQ(outcome.status, HARENA_OK) << outcome.message;
    last_ = outcome.result;
    return id;
  }
  pid_t init_pid() const { return last_["details"]["init_pid"]; }

  std::unique_ptr<Backend> backend_;
  json last_;
};

}  // namespace harena::container::testing
