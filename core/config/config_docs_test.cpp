// docs/configuration.md and the schema say the same.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "core/config/load.hpp"

namespace harena {
namespace {

using nlohmann::json;
using Rows = std::map<std::string, std::string>;  // key -> "default | description"

void collect(const json& schema, const std::string& path, Rows& rows) {
  if (schema.contains("properties")) {
    for (const auto& [key, child] : schema["properties"].items()) collect(child, path.empty() ? key : path + "." + key, rows);
    return;
  }
  if (schema.contains("additionalProperties") && schema["additionalProperties"].is_object()) {
    return collect(schema["additionalProperties"], path + ".NAME", rows);
  }
  const std::string shown = schema.contains("default") ? "`" + schema["default"].dump() + "` " : "";
  rows[path] = shown + "| " + schema.value("description", "(no description)");
}

std::string document() {
  const char* root = std::getenv("HARENA_SOURCE_DIR");
  std::ifstream file(std::string(root ? root : ".") + "/docs/configuration.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

Rows documented_keys(const std::string& text) {
  Rows rows;
  std::istringstream lines(text.substr(text.find("## Keys"), text.find("## Environment") - text.find("## Keys")));
  for (std::string line; std::getline(lines, line);) {
    const auto end = line.find("` | ");
    if (!line.starts_with("| `") || end == std::string::npos || !line.ends_with(" |")) continue;
    rows[line.substr(3, end - 3)] = line.substr(end + 4, line.size() - end - 6);
  }
  return rows;
}

TEST(ConfigDocs, EveryKeyHasItsLineWithDefaultAndDescription) {
  Rows in_schema;
  collect(config_schema(), "", in_schema);
  EXPECT_GT(in_schema.size(), 15u);
  EXPECT_EQ(documented_keys(document()), in_schema);
}

TEST(ConfigDocs, TheExampleIsValid) {
  const auto text = document();
  const auto begin = text.find("```json\n") + 8;
  const auto config = parse_config(text.substr(begin, text.find("```", begin) - begin), "the example");
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->edge.max_sandboxes, 200);
}

TEST(ConfigDocs, EveryVariableIsDocumented) {
  const auto text = document();
  std::vector<std::string> asked{"HARENA_CONFIG"};
  const auto example = std::filesystem::temp_directory_path() / ("harena-config-docs-" + std::to_string(::getpid()));
  std::ofstream(example) << "{}";
  const auto loaded = load_config(example, [&](const std::string& name) -> std::optional<std::string> {
    asked.push_back(name);
    return std::nullopt;
  });
  std::filesystem::remove(example);
  EXPECT_TRUE(loaded.ok());
  EXPECT_GT(asked.size(), 5u);
  for (const auto& name : asked) EXPECT_NE(text.find("`" + name + "`"), std::string::npos) << name;
}

}  // namespace
}  // namespace harena
