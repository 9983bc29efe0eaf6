#include "plugins/mcp/tools/catalog.hpp"

#include <gtest/gtest.h>

namespace harena::mcp {
namespace {

TEST(Catalog, TheToolsAreThoseThatAreNamed) {
  const auto catalog = Catalog::make();
  ASSERT_TRUE(catalog.ok()) << catalog.error().describe();
  EXPECT_EQ(catalog->names(), "create, run, read, write, list, kill");
  EXPECT_EQ(catalog->find("nope"), nullptr);
  for (const auto& tool : catalog->listing()) {
    EXPECT_TRUE(tool.contains("description") && tool.contains("inputSchema") && tool.contains("outputSchema")) << tool;
  }
}

TEST(Catalog, ArgumentsGetDefaultsAndErrorsNameTheNearest) {
  const auto catalog = Catalog::make();
  const auto& run = catalog->find("run")->arguments;
  EXPECT_EQ(run.apply({{"sandbox_id", "x"}, {"command", "true"}}, "arguments")->at("timeout_s"), 300);
  const auto wrong = run.apply({{"sandbox_id", "x"}, {"comand", "true"}}, "arguments");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("did you mean 'command'"), std::string::npos) << wrong.error().message;
}

}  // namespace
}  // namespace harena::mcp
