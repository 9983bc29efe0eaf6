#pragma once
// The base of the test suites with real sandboxes: skips with a sentence where this host can't.

#include "plugins/container/tests/fixture.hpp"
#include "sdk/support/cgroup_layout.hpp"
#include "sdk/support/files.hpp"

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
  /// What the sandbox's group says; the name of the file on v1, and on v2.
  std::string limit(const std::string& id, const std::string& controller, const std::string& v1, const std::string& v2) {
    auto layout = detect_cgroups().value();
    const std::string v1_name = controller == "io" ? "blkio" : controller;
    const bool on_v1 = layout.v1_roots.count(v1_name) != 0;
    const std::string root = on_v1 ? layout.v1_roots[v1_name] : layout.v2_root;
    std::string text = read_text(root + "/harena/" + backend_->instance() + "/" + id + "/" + (on_v1 ? v1 : v2));
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }
  bool hybrid() { return detect_cgroups()->mode == CgroupLayout::Mode::hybrid; }
  pid_t init_pid() const { return last_["details"]["init_pid"]; }

  std::unique_ptr<Backend> backend_;
  json last_;
};

}  // namespace harena::container::testing
