// The shim killed at each of its fault points (shim/fault.hpp): the sandbox ends with it, nothing that it started is left, and the
// client learns that it was the infrastructure.

#include "tests/integration/session/namespace_fixture.hpp"

namespace harena::session {
namespace {

class Faults : public NamespaceTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void TearDown() override { NamespaceTest::TearDown(); }
  /// Whatever reaches the armed point: a command with output and a process beside it, a file, a stop.
  Task<Status> provoke() {
    FileWriteRequest write;
    write.path = "/tmp/partial";
    auto request = shell("setsid sleep 30 & echo output; sleep 0.05; exit 0");
    if (std::string_view(GetParam()) == "file") {
      HARENA_CO_TRY(auto writer, co_await client->write_file(write));
      HARENA_CO_TRY_STATUS(co_await writer.write("half"));
      HARENA_CO_TRY_STATUS(co_await writer.finish());
    }
    HARENA_CO_TRY_STATUS(co_await run(*client, request));
    co_return co_await client->shutdown(0);
  }
};

TEST_P(Faults, CrashOfTheShimEndsTheSandboxAndIsTheInfrastructures) {
  SandboxLimits limits;
  limits.fault = GetParam();
  HARENA_MAKE_SANDBOX(limits);
  auto status = await(provoke());
  bool answered_first = std::string_view(GetParam()) == "stop";
  if (!answered_first) {
    ASSERT_FALSE(status) << "the fault '" << GetParam() << "' wasn't reached; is this a build with HARENA_FAULTS?";
    EXPECT_EQ(status.error().code, ErrorCode::unavailable);
    EXPECT_EQ(status.error().cause, Cause::infrastructure);
    EXPECT_EQ(status.error().cause_detail, "session");
  }
  int ended = box->await_end();
  EXPECT_TRUE(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL);
  EXPECT_TRUE(box->await_empty()) << "processes of the sandbox outlived its shim";
  EXPECT_EQ(box->record(), "") << "a crash is no end in order";
  // Nobody answers any more, and that is said the same way.
  auto after = await(client->stats());
  ASSERT_FALSE(after);
  EXPECT_EQ(after.error().cause, Cause::infrastructure);
}

INSTANTIATE_TEST_SUITE_P(Points, Faults,
                         ::testing::Values("accept", "spawn.before", "spawn.after", "spawn.born", "output", "exit", "file", "stop"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

class SpawnerFaults : public NamespaceTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(SpawnerFaults, CrashOfTheSpawnerCostsTheCommandInHandOnly) {
  HARENA_MAKE_SANDBOX();
  ASSERT_EQ(must_run(argv({"true"})).exit.code, 0);
  std::ofstream(box->run_dir() + "/fault") << GetParam();
  auto request = shell("setsid sleep 30 & sleep 30");
  request.timeout_ms = 5000;
  auto failed = try_run(request);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::unavailable);
  EXPECT_EQ(failed.error().cause, Cause::infrastructure);
  std::filesystem::remove(box->run_dir() + "/fault");
  // There is another, as soon as the shim has seen the death.
  int tries = 0;
  while (!try_run(argv({"true"})) && ++tries < 1000) {
  }
  EXPECT_LT(tries, 1000);
  // What the lost one had started is gone too.
  EXPECT_EQ(must_run(shell("for i in $(seq 100); do n=$(pgrep -c sleep); [ $n = 0 ] && break; sleep 0.05; done; echo $n")).out, "0\n");
}

INSTANTIATE_TEST_SUITE_P(Points, SpawnerFaults, ::testing::Values("spawner.order", "spawner.made"), [](const auto& info) {
  return std::string(info.param).substr(8);
});

}  // namespace
}  // namespace harena::session
