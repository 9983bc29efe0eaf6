// Forks and snapshots over a backend in memory: what is counted, what is undone, what a death leaves.
#include <gtest/gtest.h>

#include "core/lifecycle/testing/bench.hpp"

namespace harena {
namespace {

Result<Sandbox> source_of(Bench& bench, const std::string& text = R"({"labels": {"a": "b"}, "params": {"cpu": 1, "memory": "1MiB"}})") {
  return bench.manager->create({}, Bench::spec(text));
}

std::size_t folders_of_snapshots(const Bench& bench) {
  std::size_t count = 0;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(bench.folder + "/state/snapshots", none)) count += entry.exists();
  return count;
}

TEST(Forking, ChildrenAreSandboxesOfTheirOwn) {
  Bench bench;
  const auto source = source_of(bench);
  ForkSpec spec{.count = 3, .params = {{"memory_bytes", 5}}, .task = "t"};
  const auto outcome = bench.manager->fork({.principal = "me"}, source->id, spec);
  ASSERT_TRUE(outcome.ok()) << outcome.error().describe();
  EXPECT_EQ(outcome->kept, "filesystem");
  ASSERT_EQ(outcome->children.size(), 3u);
  for (const auto& child : outcome->children) {
    ASSERT_TRUE(child.ok());
    EXPECT_EQ(child->state, SandboxState::running);
    EXPECT_EQ(child->spec.forked_from, source->id.str());
    EXPECT_EQ(child->spec.labels, source->spec.labels);
    EXPECT_EQ(child->spec.task, "t");
    EXPECT_EQ(child->spec.params, (nlohmann::json{{"cpu", 1}, {"memory_bytes", 5}}));
    EXPECT_EQ(child->created_by, "me");
    EXPECT_EQ(to_public_json(*child)["forked_from"], source->id.str());
  }
  EXPECT_EQ(bench.quotas->used(ProjectPath::root()).sandboxes, 4);
  ASSERT_TRUE(bench.manager->stop({}, source->id, 0).ok());
  EXPECT_EQ(bench.backend.alive(), 3u);
  bench.restart();
  ASSERT_TRUE(bench.manager->recover().ok());
  EXPECT_EQ(bench.manager->get({}, outcome->children[0]->id)->spec.forked_from, source->id.str());
}

TEST(Forking, OneBadChildIsOneError) {
  Bench bench;
  const auto source = source_of(bench);
  bench.backend.script = [seen = 0](const std::string& verb, const SandboxId&) mutable -> Status {
    return verb == "child" && seen++ == 1 ? Status(make_error(ErrorCode::resource_exhausted, "no room")) : ok_status();
  };
  const auto outcome = bench.manager->fork({}, source->id, {.count = 3});
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome->children[0].ok() && outcome->children[2].ok());
  EXPECT_EQ(outcome->children[1].error().code, ErrorCode::resource_exhausted);
  EXPECT_EQ(bench.manager->living(), 3u);
  EXPECT_EQ(bench.folders(), 6u);
}

TEST(Forking, AdmissionCountsEachChild) {
  Bench bench;
  bench.limits.max_sandboxes = 3;
  bench.restart();
  const auto source = source_of(bench);
  const auto outcome = bench.manager->fork({}, source->id, {.count = 4});
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome->children[0].ok() && outcome->children[1].ok());
  EXPECT_EQ(outcome->children[3].error().code, ErrorCode::resource_exhausted);
  EXPECT_EQ(bench.backend.alive(), 3u);
}

TEST(Forking, AFailureOfTheWholeLeavesNothing) {
  Bench bench;
  const auto source = source_of(bench);
  bench.backend.script = [](const std::string& verb, const SandboxId&) -> Status {
    return verb == "fork" ? Status(make_error(ErrorCode::unavailable, "disk")) : ok_status();
  };
  const auto outcome = bench.manager->fork({}, source->id, {.count = 2, .idempotency_key = "k"});
  ASSERT_TRUE(outcome.ok());
  for (const auto& child : outcome->children) EXPECT_EQ(child.error().code, ErrorCode::unavailable);
  EXPECT_EQ(bench.manager->living(), 1u);
  bench.backend.script = nullptr;
  const auto again = bench.manager->fork({}, source->id, {.count = 2, .idempotency_key = "k"});
  EXPECT_TRUE(again->children[0].ok() && again->children[1].ok());
}

TEST(Forking, OneKeyIsOneFork) {
  Bench bench;
  const auto source = source_of(bench);
  const ForkSpec spec{.count = 2, .idempotency_key = "k"};
  const auto first = bench.manager->fork({}, source->id, spec);
  const auto again = bench.manager->fork({}, source->id, spec);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(first->children[i]->id, again->children[i]->id);
  const auto other = bench.manager->fork({}, source->id, {.count = 3, .idempotency_key = "k"});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::already_exists);
  EXPECT_EQ(bench.manager->living(), 3u);
}

TEST(Forking, AbsentVerbsAreNamed) {
  Bench bench;
  bench.backend.description().verbs = {"pause", "resume"};
  const auto source = source_of(bench);
  const auto forked = bench.manager->fork({}, source->id, {});
  EXPECT_EQ(forked.error().code, ErrorCode::unimplemented);
  EXPECT_NE(forked.error().message.find("'fake' has no verb 'fork'"), std::string::npos);
  EXPECT_EQ(bench.manager->snapshot({}, source->id, {}).error().code, ErrorCode::unimplemented);
  EXPECT_EQ(bench.manager->rollback({}, source->id, source->id).error().code, ErrorCode::unimplemented);
  ASSERT_TRUE(bench.manager->stop({}, source->id, 0).ok());
  EXPECT_EQ(bench.manager->fork({}, source->id, {}).error().code, ErrorCode::failed_precondition);
}

TEST(Snapshots, DontHandDownWhatIsOfOneCreateAlone) {
  Bench bench;
  bench.backend.description().params_schema = {{"properties", {{"verify", {{"type", "string"}, {"x-once", true}}},
                                                                        {"size", {{"type", "integer"}}}}}};
  const auto source = bench.manager->create({}, Bench::spec(R"({"params": {"verify": "all", "size": 7, "other": 1}})"));
  ASSERT_TRUE(source.ok()) << source.error().describe();
  const auto taken = bench.manager->snapshot({}, source->id, {});
  ASSERT_TRUE(taken.ok()) << taken.error().describe();
  const std::string from = R"("snapshot": ")" + taken->id.str() + R"(")";
  const auto made = bench.manager->create({}, Bench::spec("{" + from + "}"));
  ASSERT_TRUE(made.ok()) << made.error().describe();
  EXPECT_EQ(made->spec.params, nlohmann::json::parse(R"({"size": 7, "other": 1})"));
  const auto asked = bench.manager->create({}, Bench::spec("{" + from + R"(, "params": {"verify": "some"}})"));
  ASSERT_TRUE(asked.ok()) << asked.error().describe();
  EXPECT_EQ(asked->spec.params["verify"], "some");
}

TEST(Snapshots, AreUsedListedAndDeleted) {
  Bench bench;
  const auto source = source_of(bench);
  const auto taken = bench.manager->snapshot({.principal = "me"}, source->id, {.name = "one"});
  ASSERT_TRUE(taken.ok()) << taken.error().describe();
  EXPECT_EQ(taken->state, SnapshotState::ready);
  EXPECT_EQ(bench.manager->snapshot({}, source->id, {.name = "one"}).error().code, ErrorCode::already_exists);
  ASSERT_TRUE(bench.manager->stop({}, source->id, 0).ok());
  bench.restart();
  ASSERT_TRUE(bench.manager->recover().ok());
  EXPECT_EQ(folders_of_snapshots(bench), 1u);
  const auto made = bench.manager->create({}, Bench::spec(R"({"snapshot": ")" + taken->id.str() + R"("})"));
  ASSERT_TRUE(made.ok()) << made.error().describe();
  EXPECT_EQ(made->spec.params, source->spec.params);
  EXPECT_EQ(made->promised, source->promised);
  ASSERT_TRUE(bench.manager->rollback({}, made->id, taken->id).ok());
  EXPECT_EQ(bench.backend.restored, (std::vector<std::string>{taken->backend_state, taken->backend_state}));
  EXPECT_EQ(bench.manager->list_snapshots({}, {.name = "one"}, "", 10)->snapshots.size(), 1u);
  ASSERT_TRUE(bench.manager->delete_snapshot({}, taken->id).ok());
  ASSERT_TRUE(bench.manager->delete_snapshot({}, taken->id).ok());
  EXPECT_EQ(folders_of_snapshots(bench), 0u);
  EXPECT_EQ(bench.manager->create({}, Bench::spec(R"({"snapshot": ")" + taken->id.str() + R"("})")).error().code, ErrorCode::not_found);
  EXPECT_TRUE(bench.manager->snapshot({}, made->id, {.name = "one"}).ok());
}

TEST(Snapshots, AFailureLeavesNoNameAndNoFolder) {
  Bench bench;
  const auto source = source_of(bench);
  bench.backend.script = [](const std::string& verb, const SandboxId&) -> Status {
    return verb == "snapshot" ? Status(make_error(ErrorCode::unavailable, "disk")) : ok_status();
  };
  EXPECT_EQ(bench.manager->snapshot({}, source->id, {.name = "one"}).error().code, ErrorCode::unavailable);
  EXPECT_EQ(folders_of_snapshots(bench), 0u);
  bench.backend.script = nullptr;
  EXPECT_TRUE(bench.manager->snapshot({}, source->id, {.name = "one"}).ok());
}

TEST(Snapshots, WhatIsMadeOfOneHasTheAnnotationsOfItsSource) {
  Bench bench;
  const auto source = bench.manager->create({}, Bench::spec(R"({"annotations": {"a": "1"}})"));
  ASSERT_TRUE(source.ok()) << source.error().describe();
  const auto taken = bench.manager->snapshot({}, source->id, {.name = "one"});
  ASSERT_TRUE(taken.ok()) << taken.error().describe();
  const auto like_it = bench.manager->create({}, Bench::spec(R"({"snapshot": ")" + taken->id.str() + R"("})"));
  EXPECT_EQ(like_it->spec.annotations, (Labels{{"a", "1"}}));
  const auto other = bench.manager->create({}, Bench::spec(R"({"annotations": {"b": "2"}, "snapshot": ")" + taken->id.str() + R"("})"));
  EXPECT_EQ(other->spec.annotations, (Labels{{"b", "2"}}));
}

/// kill -9 at every transaction of a snapshot and of its removal.
TEST(Snapshots, EveryDeathIsMended) {
  for (int n = 0; n < 5; ++n) {
    Bench bench;
    const auto source = source_of(bench);
    bench.store.before_txn = [n, seen = 0](const std::vector<StateOp>&) mutable -> Status {
      return seen++ >= n ? Status(make_error(ErrorCode::unavailable, "the process is dead")) : ok_status();
    };
    const auto taken = bench.manager->snapshot({}, source->id, {.name = "one"});
    if (taken.ok()) (void)bench.manager->delete_snapshot({}, taken->id);
    bench.store.before_txn = nullptr;
    bench.restart();
    ASSERT_TRUE(bench.manager->recover().ok());
    const auto left = bench.manager->list_snapshots({}, {}, "", 10)->snapshots;
    EXPECT_EQ(left.size(), folders_of_snapshots(bench)) << n;
    for (const auto& one : left) EXPECT_EQ(one.state, SnapshotState::ready) << n;
    if (left.empty()) {
      EXPECT_TRUE(bench.manager->snapshot({}, source->id, {.name = "one"}).ok()) << n;
    }
  }
}

}  // namespace
}  // namespace harena
