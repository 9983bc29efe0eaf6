#include <gtest/gtest.h>

#include "core/model/project.hpp"
#include "core/model/sandbox.hpp"
#include "core/model/state.hpp"

namespace harena {
namespace {

using nlohmann::json;

TEST(StateTable, TerminalStatesHaveNoWayOut) {
  for (int to = 0; to < 8; ++to) {
    EXPECT_FALSE(can_move(SandboxState::stopped, static_cast<SandboxState>(to)));
    EXPECT_FALSE(can_move(SandboxState::failed, static_cast<SandboxState>(to)));
  }
}

TEST(StateTable, EveryLiveStateCanBeStoppedOrIsStopping) {
  for (auto state : {SandboxState::creating, SandboxState::running, SandboxState::pausing, SandboxState::paused,
                     SandboxState::resuming}) {
    EXPECT_TRUE(can_move(state, SandboxState::stopping)) << to_string(state);
  }
}

TEST(StateTable, VerbsNameTheState) {
  EXPECT_TRUE(check_verb(Verb::use, SandboxState::paused).ok());
  const auto status = check_verb(Verb::pause, SandboxState::stopped);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::failed_precondition);
  EXPECT_NE(status.error().message.find("stopped"), std::string::npos);
}

TEST(Project, ParsesAndKnowsItsAncestors) {
  const auto path = *ProjectPath::parse("root/rl/job-42");
  const auto chain = path.with_ancestors();
  ASSERT_EQ(chain.size(), 3u);
  EXPECT_EQ(chain[1].str(), "root/rl");
  EXPECT_TRUE(ProjectPath::root().contains(path));
  EXPECT_FALSE(ProjectPath::parse("root/rl")->contains(*ProjectPath::parse("root/rl2")));
}

TEST(Project, RefusesWhatIsNoPath) {
  for (const auto* bad : {"", "rl", "root/", "root//x", "root/../x", "root/A", "/root", "root/-x"}) {
    EXPECT_FALSE(ProjectPath::parse(bad).ok()) << bad;
  }
}

TEST(CreateSpec, DefaultsAndRoundTrip) {
  const auto spec = *parse_create_spec("container", json::parse(R"({"image":"root/base:v1","labels":{"a":"b"}})"));
  EXPECT_EQ(spec.idle_ttl_s, 300);
  EXPECT_EQ(to_json(*parse_create_spec("container", to_json(spec))), to_json(spec));
}

TEST(CreateSpec, BadInputNamesTheValueAndWhatIsRight) {
  const auto message = [](const char* text) {
    const auto result = parse_create_spec("container", json::parse(text));
    return result.ok() ? std::string("accepted") : result.error().message;
  };
  EXPECT_NE(message(R"({"imge":"x"})").find("did you mean 'image'"), std::string::npos);
  EXPECT_NE(message(R"({"idle_ttl_s":-1})").find("-1"), std::string::npos);
  EXPECT_NE(message(R"({"idle_ttl_s":1e300})").find("whole number"), std::string::npos);
  EXPECT_NE(message(R"({"idle_ttl_s":99999999999999999999})").find("whole number"), std::string::npos);
  EXPECT_NE(message(R"({"lifetime_s":"5"})").find("whole number"), std::string::npos);
  EXPECT_NE(message(R"({"idle_action":"explode"})").find("stop or pause"), std::string::npos);
  EXPECT_NE(message(R"({"project":"nope"})").find("root"), std::string::npos);
  EXPECT_NE(message(R"([1])").find("object"), std::string::npos);
  EXPECT_NE(message(R"({"labels":{"a=b":"c"}})").find("label"), std::string::npos);
}

TEST(Sandbox, StoredFormRoundTripsAndPublicFormHidesSecrets) {
  SeededRandom random(3);
  Sandbox sandbox{.id = SandboxId::generate("edge1", random),
                  .spec = *parse_create_spec("fake", json::parse(R"({"task":"t1"})"))};
  sandbox.backend_state = "blob";
  sandbox.session_endpoint = "/run/x";
  sandbox.state = SandboxState::failed;
  sandbox.ending = {Cause::infrastructure, "edge", "gone"};
  const auto stored = to_stored_json(sandbox);
  EXPECT_EQ(to_stored_json(*sandbox_from_stored_json(stored)), stored);
  const auto shown = to_public_json(sandbox);
  EXPECT_FALSE(shown.contains("backend_state"));
  EXPECT_EQ(shown["ending"]["cause"], "infrastructure");
  auto damaged = stored;
  damaged["state"] = "melting";
  EXPECT_EQ(sandbox_from_stored_json(damaged).error().code, ErrorCode::data_loss);
}

TEST(Resources, ReadTheUsualParameters) {
  EXPECT_EQ(resources_of(json::parse(R"({"cpu":1.5,"memory":"512MiB"})")), (Resources{1500, 512 << 20}));
  EXPECT_EQ(resources_of(json::parse(R"({"memory_bytes":7})")), (Resources{0, 7}));
  EXPECT_EQ(resources_of(json::parse(R"({"cpu":"x","memory":"y"})")), Resources{});
  EXPECT_EQ(resources_of(json::parse(R"({"cpu":-3,"memory":-1})")), Resources{}) << "the backend names the value that is wrong";
}

TEST(Filter, AllConditionsMustHold) {
  SeededRandom random(3);
  Sandbox sandbox{.id = SandboxId::generate("edge1", random),
                  .spec = *parse_create_spec("fake", json::parse(R"({"task":"t1","labels":{"a":"1"},"project":"root/x"})"))};
  SandboxFilter filter;
  EXPECT_TRUE(matches(filter, sandbox));
  filter.project = ProjectPath::root();
  filter.labels = {{"a", "1"}};
  EXPECT_TRUE(matches(filter, sandbox));
  filter.labels = {{"a", "2"}};
  EXPECT_FALSE(matches(filter, sandbox));
}

}  // namespace
}  // namespace harena
