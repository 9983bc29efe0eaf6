#include "core/lifecycle/resizing.hpp"

#include <gtest/gtest.h>

#include "core/lifecycle/testing/bench.hpp"

namespace harena {
namespace {

using nlohmann::json;

Error refused() { return make_error(ErrorCode::failed_precondition, "scripted"); }

class Resize : public ::testing::Test {
 protected:
  Sandbox make(const std::string& params = R"({"params":{"cpu":1,"memory":"1GiB"}})") {
    auto made = bench.manager->create({}, Bench::spec(params));
    EXPECT_TRUE(made.ok());
    return *made;
  }
  Result<Sandbox> resize(const SandboxId& id, json change) {
    SandboxUpdate update;
    update.params = std::move(change);
    return bench.manager->update({}, id, update);
  }
  QuotaAmount used() const { return bench.quotas->used(ProjectPath::root()); }

  Bench bench;
};

TEST_F(Resize, ChangesRecordPromiseAndQuota) {
  const auto sandbox = make();
  const auto changed = resize(sandbox.id, {{"cpu", 2.5}, {"memory_bytes", 2 << 20}});
  ASSERT_TRUE(changed.ok()) << changed.error().describe();
  EXPECT_EQ(changed->spec.params, (json{{"cpu", 2.5}, {"memory_bytes", 2 << 20}}));
  EXPECT_EQ(bench.backend.resized, changed->spec.params);
  EXPECT_EQ(changed->details, (json{{"resized", true}}));
  EXPECT_EQ(bench.manager->promised(), (Resources{2500, 2 << 20}));
  EXPECT_EQ(used(), (QuotaAmount{1, 2500, 2 << 20}));
  EXPECT_EQ(bench.repository->get({}, sandbox.id)->spec.params, changed->spec.params);
  ASSERT_TRUE(bench.manager->stop({}, sandbox.id, 0).ok());
  EXPECT_EQ(bench.manager->promised(), Resources{});
  EXPECT_EQ(used(), (QuotaAmount{0, 0, 0}));
}

TEST_F(Resize, NullTakesAParameterAndItsPromiseAway) {
  const auto sandbox = make();
  ASSERT_TRUE(resize(sandbox.id, {{"cpu", nullptr}}).ok());
  EXPECT_EQ(bench.manager->get({}, sandbox.id)->spec.params, (json{{"memory", "1GiB"}}));
  EXPECT_EQ(bench.manager->promised(), (Resources{0, 1 << 30}));
}

TEST_F(Resize, ARefusalLeavesEverythingAsItWas) {
  const auto sandbox = make();
  bench.backend.script = [](const std::string& verb, const SandboxId&) { return verb == "resize" ? Status(refused()) : ok_status(); };
  SandboxUpdate update{.labels = Labels{{"a", "b"}}, .params = json{{"cpu", 4}}};
  EXPECT_EQ(bench.manager->update({}, sandbox.id, update).error().code, ErrorCode::failed_precondition);
  const auto after = *bench.repository->get({}, sandbox.id);
  EXPECT_EQ(after.spec.params, sandbox.spec.params);
  EXPECT_TRUE(after.spec.labels.empty());
  EXPECT_FALSE(after.resizing);
  EXPECT_EQ(bench.manager->promised(), (Resources{1000, 1 << 30}));
  EXPECT_EQ(used(), (QuotaAmount{1, 1000, 1 << 30}));
}

TEST_F(Resize, OnlyTheDifferenceIsAdmitted) {
  bench.limits.promise = {3000, INT64_MAX};
  bench.limits.max_sandboxes = 1;
  bench.restart();
  const auto sandbox = make();
  EXPECT_TRUE(resize(sandbox.id, {{"cpu", 3}}).ok());
  const auto more = resize(sandbox.id, {{"cpu", 3.5}});
  EXPECT_EQ(more.error().code, ErrorCode::resource_exhausted);
  EXPECT_NE(more.error().message.find("500 more"), std::string::npos) << more.error().message;
  EXPECT_EQ(used().cpu_milli, 3000);
  EXPECT_TRUE(resize(sandbox.id, {{"cpu", 1}}).ok());
  EXPECT_EQ(bench.manager->promised().cpu_milli, 1000);
}

TEST_F(Resize, TheQuotaCountsTheDifference) {
  const auto sandbox = make();
  bench.quotas->set_limits(ProjectPath::root(), {.cpu_milli = 2000});
  EXPECT_EQ(resize(sandbox.id, {{"cpu", 2.1}}).error().cause_detail, "quota.cpu_milli");
  EXPECT_TRUE(resize(sandbox.id, {{"cpu", 2}}).ok());
  bench.quotas->set_limits(ProjectPath::root(), {.cpu_milli = 100});
  EXPECT_TRUE(resize(sandbox.id, {{"cpu", 1.5}}).ok()) << "less than before is no question of limits";
  EXPECT_EQ(used().cpu_milli, 1500);
}

TEST_F(Resize, OnlyWhereTheBackendCan) {
  const auto sandbox = make();
  bench.backend.description().verbs.erase("resize");
  EXPECT_EQ(resize(sandbox.id, {{"cpu", 2}}).error().code, ErrorCode::unimplemented);
}

TEST_F(Resize, OfAPausedSandbox) {
  const auto sandbox = make();
  ASSERT_TRUE(bench.manager->pause({}, sandbox.id).ok());
  const auto changed = resize(sandbox.id, {{"cpu", 2}});
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->state, SandboxState::paused);
}

TEST_F(Resize, OfAnEndedSandboxIsAnError) {
  const auto sandbox = make();
  ASSERT_TRUE(bench.manager->stop({}, sandbox.id, 0).ok());
  EXPECT_EQ(resize(sandbox.id, {{"cpu", 2}}).error().code, ErrorCode::failed_precondition);
}

/// The process ends while the backend works: what follows is another manager over the same store and machine.
class CrashedResize : public Resize {
 protected:
  Sandbox crashed_in_the_middle() {
    const auto sandbox = make();
    bench.backend.script = [this](const std::string& verb, const SandboxId& id) {
      if (verb == "resize") stored_ = *bench.repository->get({}, id);
      return ok_status();
    };
    EXPECT_TRUE(resize(sandbox.id, {{"cpu", 2}}).ok());
    bench.backend.script = nullptr;
    bench.backend.resized = nullptr;
    EXPECT_TRUE(bench.repository->save({}, stored_).ok());
    bench.restart();
    return sandbox;
  }
  Sandbox stored_{.id = *SandboxId::parse("edge1aaaaaaaaaaaaaaa")};
};

TEST_F(CrashedResize, IsGoneThroughWith) {
  const auto sandbox = crashed_in_the_middle();
  ASSERT_TRUE(stored_.resizing);
  ASSERT_TRUE(bench.manager->recover().ok());
  const auto after = *bench.manager->get({}, sandbox.id);
  EXPECT_EQ(after.spec.params["cpu"], 2);
  EXPECT_FALSE(after.resizing);
  EXPECT_EQ(bench.backend.resized["cpu"], 2);
  EXPECT_EQ(bench.manager->promised(), (Resources{2000, 1 << 30}));
  EXPECT_EQ(used(), (QuotaAmount{1, 2000, 1 << 30}));
}

TEST_F(CrashedResize, IsTakenBackIfItCannotBe) {
  const auto sandbox = crashed_in_the_middle();
  int asked = 0;
  bench.backend.script = [&](const std::string& verb, const SandboxId&) {
    return verb == "resize" && asked++ == 0 ? Status(refused()) : ok_status();
  };
  ASSERT_TRUE(bench.manager->recover().ok());
  EXPECT_EQ(bench.manager->get({}, sandbox.id)->spec.params["cpu"], 1);
  EXPECT_FALSE(bench.repository->get({}, sandbox.id)->resizing);
  EXPECT_EQ(bench.backend.resized["cpu"], 1);
  EXPECT_EQ(bench.manager->promised(), (Resources{1000, 1 << 30}));
}

TEST_F(CrashedResize, WhatStandsStillGoesOn) {
  const auto sandbox = crashed_in_the_middle();
  ASSERT_TRUE(bench.backend.pause({}, sandbox.id).ok());
  ASSERT_TRUE(bench.manager->recover().ok());
  EXPECT_EQ(bench.manager->get({}, sandbox.id)->state, SandboxState::running);
  EXPECT_EQ(bench.backend.recover({}, sandbox.id, "blob-" + sandbox.id.str())->status, BackendRecovered::Status::running);
}

TEST_F(CrashedResize, TheNextResizeSettlesItFirst) {
  const auto sandbox = crashed_in_the_middle();
  bench.backend.script = [](const std::string& verb, const SandboxId&) { return verb == "resize" ? Status(refused()) : ok_status(); };
  ASSERT_TRUE(bench.manager->recover().ok());
  EXPECT_TRUE(bench.manager->get({}, sandbox.id)->resizing) << "neither way could be gone";
  bench.backend.script = nullptr;
  ASSERT_TRUE(resize(sandbox.id, {{"memory", "2GiB"}}).ok());
  const auto after = *bench.manager->get({}, sandbox.id);
  EXPECT_EQ(after.spec.params, (json{{"cpu", 2}, {"memory", "2GiB"}}));
  EXPECT_EQ(bench.manager->promised(), (Resources{2000, 2ll << 30}));
}

}  // namespace
}  // namespace harena
