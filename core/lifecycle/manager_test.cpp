#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <latch>
#include <thread>

#include "core/lifecycle/testing/bench.hpp"

namespace harena {
namespace {

Error broken(ErrorCode code = ErrorCode::unavailable) { return infrastructure_error(code, "test", "scripted"); }

TEST(Create, RunsAndIsStored) {
  Bench bench;
  const auto made = bench.manager->create({.principal = "token:1"}, Bench::spec(R"({"labels":{"a":"b"}})"));
  ASSERT_TRUE(made.ok()) << made.error().describe();
  EXPECT_EQ(made->state, SandboxState::running);
  EXPECT_EQ(made->created_by, "token:1");
  EXPECT_EQ(made->id.edge_code(), "edge1");
  EXPECT_EQ(bench.repository->get({}, made->id)->state, SandboxState::running);
  EXPECT_EQ(bench.quotas->used(ProjectPath::root()).sandboxes, 1);
}

TEST(Create, UnknownBackendNamesTheNearest) {
  Bench bench;
  auto spec = Bench::spec();
  spec.backend = "fkae";
  const auto made = bench.manager->create({}, spec);
  EXPECT_EQ(made.error().code, ErrorCode::not_found);
  EXPECT_NE(made.error().message.find("did you mean 'fake'"), std::string::npos);
}

TEST(Create, AFailureLeavesNothing) {
  Bench bench;
  bench.backend.script = [](const std::string& verb, const SandboxId&) {
    return verb == "create" ? Status(broken()) : ok_status();
  };
  const auto before = bench.store.size();
  const auto made = bench.manager->create({}, Bench::spec(R"({"idempotency_key":"k"})"));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().cause, Cause::infrastructure);
  EXPECT_EQ(bench.store.size(), before);
  EXPECT_EQ(bench.folders(), 0u);
  EXPECT_EQ(bench.manager->living(), 0u);
  EXPECT_EQ(bench.quotas->used(ProjectPath::root()).sandboxes, 0);
  bench.backend.script = nullptr;
  EXPECT_TRUE(bench.manager->create({}, Bench::spec(R"({"idempotency_key":"k"})")).ok());
}

TEST(Create, TheSameKeyNeverMakesTwo) {
  Bench bench;
  const auto spec = Bench::spec(R"({"idempotency_key":"k"})");
  std::vector<std::string> ids(16);
  std::latch go(16);
  {
    std::vector<std::jthread> threads;
    for (auto& id : ids) {
      threads.emplace_back([&] {
        go.arrive_and_wait();
        const auto made = bench.manager->create({}, spec);
        if (made.ok()) id = made->id.str();
      });
    }
  }
  for (const auto& id : ids) EXPECT_EQ(id, ids[0]);
  EXPECT_EQ(bench.backend.alive(), 1u);
}

TEST(Create, ARepeatAfterStopAnswersTheStoppedOne) {
  Bench bench;
  const auto spec = Bench::spec(R"({"idempotency_key":"k"})");
  const auto made = bench.manager->create({}, spec);
  ASSERT_TRUE(bench.manager->stop({}, made->id, 0).ok());
  bench.restart();
  ASSERT_TRUE(bench.manager->recover().ok());
  const auto again = bench.manager->create({}, spec);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->id, made->id);
  EXPECT_EQ(again->state, SandboxState::stopped);
  EXPECT_EQ(bench.backend.alive(), 0u);
}

TEST(Create, AKeyWithAnotherRequestIsRefused) {
  Bench bench;
  ASSERT_TRUE(bench.manager->create({}, Bench::spec(R"({"idempotency_key":"k"})")).ok());
  const auto other = bench.manager->create({}, Bench::spec(R"({"idempotency_key":"k","idle_ttl_s":7})"));
  EXPECT_EQ(other.error().code, ErrorCode::already_exists);
}

TEST(Create, ExactlyAsManyAreAdmittedAsWerePromisedRoom) {
  Bench bench;
  bench.limits.promise = {4'000, INT64_MAX};
  bench.restart();
  std::atomic<int> made = 0, refused = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 16; ++i) {
      threads.emplace_back([&] {
        const auto result = bench.manager->create({}, Bench::spec(R"({"params":{"cpu":0.5}})"));
        if (result.ok()) ++made;
        else if (result.error().retry == Retry::other_node) ++refused;
      });
    }
  }
  EXPECT_EQ(made, 8);
  EXPECT_EQ(refused, 8);
  EXPECT_TRUE(bench.manager->create({}, Bench::spec()).ok()) << "what asks for nothing by name is promised nothing";
}

TEST(Create, AStopInTheMiddleLeavesAStoppedRecordAndKeepsTheKey) {
  Bench bench;
  std::latch inside(1), release(1);
  bench.backend.script = [&](const std::string& verb, const SandboxId&) {
    if (verb == "create") {
      inside.count_down();
      release.wait();
    }
    return ok_status();
  };
  const auto spec = Bench::spec(R"({"idempotency_key":"k"})");
  Result<Sandbox> made = broken();
  std::jthread creator([&] { made = bench.manager->create({}, spec); });
  inside.wait();
  const auto id = bench.manager->list({}, {}, "", 10)->sandboxes.at(0).id;
  Result<Sandbox> stopped = broken();
  std::jthread stopper([&] { stopped = bench.manager->stop({}, id, 0); });
  while (!bench.manager->find(id) || !bench.manager->cancelling(id)) std::this_thread::yield();
  release.count_down();
  creator.join();
  stopper.join();
  EXPECT_EQ(made.error().code, ErrorCode::cancelled);
  ASSERT_TRUE(stopped.ok()) << stopped.error().describe();
  EXPECT_EQ(stopped->state, SandboxState::stopped);
  EXPECT_EQ(bench.backend.alive(), 0u);
  EXPECT_EQ(bench.manager->create({}, spec)->id, id);
  EXPECT_EQ(bench.backend.alive(), 0u);
}

TEST(Verbs, PauseAndResumeAreIdempotent) {
  Bench bench;
  const auto id = bench.manager->create({}, Bench::spec())->id;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(bench.manager->pause({}, id)->state, SandboxState::paused);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(bench.manager->resume({}, id)->state, SandboxState::running);
  EXPECT_EQ(bench.manager->get({}, id)->details["resume"]["kept"], "memory") << "what the backend told of it";
}

TEST(Verbs, AFailedPauseLeavesItRunning) {
  Bench bench;
  const auto id = bench.manager->create({}, Bench::spec())->id;
  bench.backend.script = [](const std::string& verb, const SandboxId&) {
    return verb == "pause" ? Status(broken()) : ok_status();
  };
  EXPECT_FALSE(bench.manager->pause({}, id).ok());
  EXPECT_EQ(bench.manager->get({}, id)->state, SandboxState::running);
}

TEST(Verbs, UseResumesAPausedSandbox) {
  Bench bench;
  const auto id = bench.manager->create({}, Bench::spec())->id;
  ASSERT_TRUE(bench.manager->pause({}, id).ok());
  EXPECT_EQ(bench.manager->fast_use(id), nullptr);
  const auto use = bench.manager->use({}, id);
  ASSERT_TRUE(use.ok());
  EXPECT_EQ((*use)->sandbox().state, SandboxState::running);
}

TEST(Verbs, AStopAnswersBeforeWhatIsLeftIsRemoved) {
  Bench bench;
  const auto id = bench.manager->create({}, Bench::spec())->id;
  std::promise<void> go;
  std::atomic<int> stops{0};
  bench.backend.script = [&, ready = go.get_future().share()](const std::string& verb, const SandboxId&) {
    if (verb == "stop" && ++stops == 2) ready.wait();
    return ok_status();
  };
  EXPECT_EQ(bench.manager->stop({}, id, 0)->state, SandboxState::stopped);
  EXPECT_TRUE(std::filesystem::exists(bench.folder + "/state/sandboxes/" + id.str())) << "the backend may still need it";
  EXPECT_EQ(bench.manager->living(), 0u);
  EXPECT_EQ(bench.quotas->used(ProjectPath::root()).sandboxes, 0);
  go.set_value();
  EXPECT_EQ(bench.folders(), 0u);
  EXPECT_EQ(stops, 2);
}

TEST(Verbs, WhatCouldntBeRemovedIsRemovedByTheNextStart) {
  Bench bench;
  const auto id = bench.manager->create({}, Bench::spec())->id;
  std::atomic<int> stops{0};
  bench.backend.script = [&](const std::string& verb, const SandboxId&) {
    return verb == "stop" && ++stops == 2 ? Status(broken()) : ok_status();
  };
  ASSERT_TRUE(bench.manager->stop({}, id, 0).ok());
  EXPECT_EQ(bench.folders(), 2u);
  ASSERT_EQ(bench.notices.size(), 1u);
  EXPECT_NE(bench.notices[0].find("what is left of " + id.str()), std::string::npos) << bench.notices[0];
  bench.restart();
  ASSERT_TRUE(bench.manager->recover().ok());
  EXPECT_EQ(bench.folders(), 0u);
}

TEST(Verbs, StopIsIdempotentAndTheRecordStays) {
  Bench bench;
  const auto id = bench.manager->create({}, Bench::spec())->id;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(bench.manager->stop({}, id, 0)->state, SandboxState::stopped);
  EXPECT_EQ(bench.folders(), 0u);
  EXPECT_EQ(bench.manager->use({}, id).error().code, ErrorCode::failed_precondition);
  EXPECT_EQ(bench.manager->pause({}, id).error().code, ErrorCode::failed_precondition);
  EXPECT_EQ(bench.manager->update({}, id, {}).error().code, ErrorCode::failed_precondition);
  EXPECT_EQ(bench.quotas->used(ProjectPath::root()).sandboxes, 0);
}

TEST(Verbs, AStopThatFailsIsRepeatedByTheClock) {
  Bench bench;
  const auto id = bench.manager->create({}, Bench::spec())->id;
  bench.backend.script = [](const std::string& verb, const SandboxId&) {
    return verb == "stop" ? Status(broken()) : ok_status();
  };
  EXPECT_FALSE(bench.manager->stop({}, id, 0).ok());
  EXPECT_EQ(bench.manager->get({}, id)->state, SandboxState::stopping);
  bench.backend.script = nullptr;
  bench.tick();
  EXPECT_EQ(bench.manager->get({}, id)->state, SandboxState::stopped);
}

TEST(Verbs, AnExitByItselfCarriesItsCause) {
  Bench bench;
  const auto id = bench.manager->create({}, Bench::spec())->id;
  bench.manager->on_exit(id, {Cause::limit, "memory", "out of memory"});
  const auto ended = bench.manager->get({}, id);
  EXPECT_EQ(ended->state, SandboxState::failed);
  EXPECT_EQ(ended->ending.cause, Cause::limit);
  EXPECT_EQ(bench.manager->living(), 0u);
}

TEST(Verbs, AnUnknownIdIsNotFound) {
  Bench bench;
  const auto id = *SandboxId::parse("edge1abcdefghij01234");
  EXPECT_EQ(bench.manager->pause({}, id).error().code, ErrorCode::not_found);
  EXPECT_EQ(bench.manager->stop({}, id, 0).error().code, ErrorCode::not_found);
}

TEST(Ttl, IdleStopsAndUsesHoldItOff) {
  Bench bench;
  const auto id = bench.manager->create({}, Bench::spec(R"({"idle_ttl_s":10})"))->id;
  auto use = bench.manager->fast_use(id);
  bench.clock.advance_ms(60'000);
  bench.tick();
  EXPECT_EQ(bench.manager->get({}, id)->state, SandboxState::running);
  use.reset();
  bench.clock.advance_ms(9'999);
  bench.tick();
  EXPECT_EQ(bench.manager->get({}, id)->state, SandboxState::running);
  bench.clock.advance_ms(1);
  bench.tick();
  EXPECT_EQ(bench.manager->get({}, id)->state, SandboxState::stopped);
  EXPECT_EQ(bench.manager->get({}, id)->ending.detail, "idle_ttl");
}

TEST(Ttl, IdlePausePausesAndLifetimeEndsEvenAPausedOne) {
  Bench bench;
  const auto id =
      bench.manager->create({}, Bench::spec(R"({"idle_ttl_s":10,"idle_action":"pause","lifetime_s":100})"))->id;
  bench.clock.advance_ms(10'000);
  bench.tick();
  EXPECT_EQ(bench.manager->get({}, id)->state, SandboxState::paused);
  bench.clock.advance_ms(90'000);
  bench.tick();
  EXPECT_EQ(bench.manager->get({}, id)->ending.detail, "lifetime");
}

TEST(Ttl, ZeroMeansNever) {
  Bench bench;
  const auto id = bench.manager->create({}, Bench::spec(R"({"idle_ttl_s":0})"))->id;
  bench.clock.advance_ms(1'000'000'000);
  bench.tick();
  EXPECT_EQ(bench.manager->get({}, id)->state, SandboxState::running);
}

TEST(Ttl, ALifetimeThatPausesBeginsAnewWithTheResume) {
  Bench bench;
  const auto id = bench.manager->create({}, Bench::spec(R"({"idle_ttl_s":0,"lifetime_s":100,"lifetime_action":"pause"})"))->id;
  const auto use = bench.manager->fast_use(id);  // a use doesn't hold the end back
  bench.clock.advance_ms(100'000);
  bench.tick();
  EXPECT_EQ(bench.manager->get({}, id)->state, SandboxState::paused);
  EXPECT_EQ(bench.manager->get({}, id)->expires_ms, 0);
  bench.clock.advance_ms(1'000'000'000);
  bench.tick();
  EXPECT_EQ(bench.manager->get({}, id)->state, SandboxState::paused) << "a pause has no end";
  ASSERT_TRUE(bench.manager->resume({}, id).ok());
  EXPECT_EQ(bench.manager->get({}, id)->expires_ms, bench.clock.wall_ms() + 100'000);
}

TEST(Ttl, ALifetimeThatRestartsEndsARunningSandbox) {
  Bench bench;
  const auto id = bench.manager->create({}, Bench::spec(R"({"lifetime_s":100,"lifetime_when_paused":"restarts","idle_ttl_s":0})"))->id;
  ASSERT_TRUE(bench.manager->pause({}, id).ok());
  bench.clock.advance_ms(1'000'000);
  bench.restart();  // what a pause means outlives a crash
  ASSERT_TRUE(bench.manager->recover().ok());
  bench.tick();
  EXPECT_EQ(bench.manager->get({}, id)->state, SandboxState::paused);
  ASSERT_TRUE(bench.manager->resume({}, id).ok());
  bench.clock.advance_ms(100'000);
  bench.tick();
  EXPECT_EQ(bench.manager->get({}, id)->ending.detail, "lifetime");
}

TEST(Ttl, APauseByLifetimeNeedsABackendThatPauses) {
  Bench bench;
  bench.backend.description().verbs.clear();
  const auto refused = bench.manager->create({}, Bench::spec(R"({"lifetime_s":100,"lifetime_action":"pause"})"));
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(refused.error().message.find("lifetime_action is pause"), std::string::npos);
}

TEST(Use, ResumesOnlyWhereItMay) {
  Bench bench;
  const auto id = bench.manager->create({}, Bench::spec(R"({"resume_on_use":false})"))->id;
  EXPECT_TRUE(bench.manager->use({}, id).ok());
  ASSERT_TRUE(bench.manager->pause({}, id).ok());
  const auto refused = bench.manager->use({}, id);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::failed_precondition);
  EXPECT_EQ(bench.manager->get({}, id)->state, SandboxState::paused);
  ASSERT_TRUE(bench.manager->resume({}, id).ok());
  EXPECT_TRUE(bench.manager->use({}, id).ok());
}

TEST(Update, ALifetimeIsOnlyEverExtended) {
  Bench bench;
  const auto id = bench.manager->create({}, Bench::spec(R"({"lifetime_s":100,"lifetime_action":"pause"})"))->id;
  const auto shorter = bench.manager->update({}, id, {.lifetime_at_least_s = 50});
  EXPECT_EQ(shorter->expires_ms, bench.clock.wall_ms() + 100'000);
  EXPECT_EQ(shorter->spec.lifetime_s, 100);
  const auto longer = bench.manager->update({}, id, {.lifetime_at_least_s = 200});
  EXPECT_EQ(longer->expires_ms, bench.clock.wall_ms() + 200'000);
  ASSERT_TRUE(bench.manager->pause({}, id).ok());
  const auto paused = bench.manager->update({}, id, {.lifetime_at_least_s = 10});
  EXPECT_EQ(paused->expires_ms, 0);
  EXPECT_EQ(bench.manager->resume({}, id)->expires_ms, bench.clock.wall_ms() + 10'000) << "after a pause it is given anew";
  const auto endless = bench.manager->update({}, id, {.lifetime_s = 0});
  EXPECT_EQ(endless->expires_ms, 0);
  EXPECT_EQ(bench.manager->update({}, id, {.lifetime_at_least_s = 10})->expires_ms, 0) << "no end is later than any";
}

TEST(Update, ChangesLabelsAndTimes) {
  Bench bench;
  const auto id = bench.manager->create({}, Bench::spec())->id;
  const auto updated = bench.manager->update({}, id, {.labels = Labels{{"x", "y"}}, .lifetime_s = 5});
  ASSERT_TRUE(updated.ok());
  EXPECT_EQ(updated->spec.labels.at("x"), "y");
  EXPECT_EQ(updated->expires_ms, bench.clock.wall_ms() + 5'000);
}

TEST(Trail, WhatWeakensIsThereBeforeTheAnswer) {
  Bench bench;
  bench.backend.details = {{"weakened", {"capability net_raw", "host folder /srv at /data"}}};
  const auto made = bench.manager->create({.principal = "token:1"}, Bench::spec());
  ASSERT_TRUE(made.ok());
  const auto events = bench.events->list({}, {}, "", 10)->events;
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(to_json(events[1]), (nlohmann::json{{"time_ms", bench.clock.wall_ms()}, {"type", "sandbox_weakened"}, {"project", "root"},
                                                {"sandbox_id", made->id.str()}, {"principal", "token:1"}, {"detail", "host folder /srv at /data"}}));
}

TEST(Trail, AnEndByALimitIsThereAndOthersAreNot) {
  Bench bench;
  const auto made = bench.manager->create({}, Bench::spec());
  bench.manager->on_exit(made->id, {Cause::limit, "memory", "out of memory"});
  const auto other = bench.manager->create({}, Bench::spec());
  bench.manager->on_exit(other->id, {Cause::infrastructure, "shim", "gone"});
  const auto events = bench.events->list({}, {}, "", 10)->events;
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type + " " + events[0].detail + " " + events[0].sandbox_id, "limit_reached memory " + made->id.str());
}

}  // namespace
}  // namespace harena
