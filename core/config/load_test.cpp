#include "core/config/load.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace harena {
namespace {

Environment variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
    const auto it = values.find(name);
    return it == values.end() ? std::nullopt : std::optional(it->second);
  };
}

std::string refusal(const std::string& text) {
  const auto config = parse_config(text, "harena.json");
  return config ? "(accepted)" : config.error().message;
}

struct ConfigFileTest : testing::Test {
  ConfigFileTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "harena-config-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
  }
  ~ConfigFileTest() override { std::filesystem::remove_all(folder); }
  std::filesystem::path write(const std::string& text) {
    const auto path = folder / "harena.json";
    std::ofstream(path) << text;
    return path;
  }
  std::filesystem::path folder;
};

TEST(Config, AnEmptyFileGivesTheDefaultsOfTheStruct) {
  EXPECT_EQ(parse_config("{}", "f").value().to_json(), Config().to_json());
}

TEST(Config, EveryKeyIsReadAndShown) {
  const auto config = parse_config(R"({
    "api": {"listen": "0.0.0.0:1", "tls": {"cert": "/c", "key": "/k"}}, "health": {"listen": "[::1]:2"},
    "state_dir": "/s", "run_dir": "/r", "plugin_dirs": ["/p"],
    "plugins": {"fake": {"config": {"a": 1}}, "container": {"enabled": false}},
    "edge": {"code": "abc12", "cpu_overcommit": 2.5, "memory_fraction": 0.5, "max_sandboxes": 7},
    "limits": {"max_body_bytes": 2048, "max_connections": 3, "drain_s": 9, "io_threads": 4, "worker_threads": 5},
    "log": {"level": "debug", "format": "json"}})", "f").value();
  EXPECT_EQ(config.api.str(), "0.0.0.0:1");
  EXPECT_EQ(config.health.host, "::1");
  EXPECT_EQ(config.tls->key, "/k");
  EXPECT_EQ(config.edge.code, "abc12");
  EXPECT_EQ(config.limits.worker_threads, 5);
  EXPECT_EQ(config.limits.drain_s, 9);
  EXPECT_EQ(config.plugins.size(), 4u);
  EXPECT_TRUE(config.plugins.at("fake").enabled);
  EXPECT_FALSE(config.plugins.at("container").enabled);
  EXPECT_TRUE(config.plugins.at("statestore-sqlite").enabled);
  EXPECT_EQ(parse_config(config.to_json().dump(), "f").value().to_json(), config.to_json());
}

TEST(Config, ErrorsNameFileKeyValueAndWhatIsRight) {
  EXPECT_EQ(refusal(R"({"edge":{"cpu_overcommit":0}})"), "harena.json: edge.cpu_overcommit is 0; at least 0.1 is right");
  EXPECT_EQ(refusal(R"({"egde":{}})"), "harena.json: egde isn't known, did you mean 'edge'?");
  EXPECT_EQ(refusal(R"({"api":{"listen":"localhost:80"}})"),
            "harena.json: api.listen is 'localhost:80'; an address and a port are right, such as 127.0.0.1:7300 or "
            "[::1]:7300");
  EXPECT_EQ(refusal(R"({"log":{"level":"warn"}})").substr(0, 32), "harena.json: log.level is 'warn'");
  EXPECT_NE(refusal(R"({"state_dir":"relative"})").find("state_dir"), std::string::npos);
  EXPECT_NE(refusal(R"({"api":{"tls":{"cert":"/c"}}})").find("api.tls.key is missing"), std::string::npos);
  EXPECT_NE(refusal(R"({"plugins":{"container":{"enabeld":true}}})").find("enabled"), std::string::npos);
  EXPECT_NE(refusal(R"({"limits":{"worker_threads":99999999999999999999}})").find("worker_threads"), std::string::npos);
  EXPECT_NE(refusal(R"({"edge":{"max_sandboxes":1.5}})").find("edge.max_sandboxes is 1.5"), std::string::npos);
  EXPECT_NE(refusal(R"({"log":{},"log":{}})").find("twice"), std::string::npos);
  EXPECT_EQ(refusal("[]"), "harena.json: it is array; an object is right");
}

TEST_F(ConfigFileTest, TheEnvironmentWinsOverTheFile) {
  const auto file = write(R"({"state_dir": "/file", "log": {"level": "error"}})");
  const auto config = load_config(file, variables({{"HARENA_STATE_DIR", "/env"},
                                                   {"HARENA_PLUGIN_DIRS", "/a:/b"},
                                                   {"HARENA_API_LISTEN", "127.0.0.1:0"}})).value();
  EXPECT_EQ(config.state_dir, "/env");
  EXPECT_EQ(config.plugin_dirs, (std::vector<std::string>{"/a", "/b"}));
  EXPECT_EQ(config.api.port, 0);
  EXPECT_EQ(config.log.level, "error");
}

TEST_F(ConfigFileTest, AWrongVariableIsNamed) {
  const auto refused = load_config(write("{}"), variables({{"HARENA_LOG_LEVEL", "loud"}}));
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(refused.error().message.starts_with("environment variable HARENA_LOG_LEVEL: log.level is 'loud'"))
      << refused.error().message;
}

TEST_F(ConfigFileTest, TheFileIsFoundByFlagThenVariable) {
  const auto file = write(R"({"run_dir": "/found"})");
  EXPECT_EQ(load_config({}, variables({{"HARENA_CONFIG", file.string()}})).value().run_dir, "/found");
  EXPECT_EQ(load_config(file, variables({{"HARENA_CONFIG", "/nowhere"}})).value().run_dir, "/found");
}

TEST_F(ConfigFileTest, AFileThatWasNamedMustBeThere) {
  const auto refused = load_config(folder / "none.json", variables({}));
  EXPECT_EQ(refused.error().code, ErrorCode::not_found);
  EXPECT_NE(refused.error().message.find("none.json"), std::string::npos);
  EXPECT_EQ(load_config(folder, variables({})).error().code, ErrorCode::invalid_argument);
}

TEST_F(ConfigFileTest, AHugeFileIsRefused) {
  EXPECT_EQ(load_config(write(std::string(kMaxConfigBytes + 1, ' ')), variables({})).error().code,
            ErrorCode::resource_exhausted);
}

}  // namespace
}  // namespace harena
