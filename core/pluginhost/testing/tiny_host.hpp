#pragma once
// A PluginHost with the tiny plugin in it, for the tests of this room.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/pluginhost/plugin_host.hpp"
#include "core/pluginhost/testing/tiny_plugin.h"

namespace harena {

inline constexpr const char* kTinyDescription = R"({"name": "tiny", "verbs": ["pause", "resume"],
  "params_schema": {"type": "object", "additionalProperties": false,
                    "properties": {"size": {"type": "integer", "minimum": 1, "default": 7}}}})";

struct TinyHostTest : testing::Test {
  TinyHostTest() {
    tiny = tiny_script{};
    tiny.description = kTinyDescription;
    tiny.results = 1;
    options.static_plugins["tiny"] = tiny_plugin_entry();
    options.plugins = {{"tiny"}};
    options.services.log = [this](const std::string& plugin, PluginLogLevel, const std::string& message) {
      logged.push_back(plugin + ": " + message);
    };
    options.services.event = [this](const BackendEvent& event) { events.push_back(event); };
  }
  void load() {
    auto loaded = PluginHost::load(options);
    ASSERT_TRUE(loaded.ok()) << loaded.error().describe();
    host = std::move(*loaded);
  }
  Error refusal() {
    auto loaded = PluginHost::load(options);
    EXPECT_FALSE(loaded.ok());
    return loaded.ok() ? Error{} : loaded.error();
  }
  static void fail(harena_status code, const char* message) {
    tiny.error = {sizeof(harena_error), code, {message, std::char_traits<char>::length(message)},
                  HARENA_CAUSE_AGENT, HARENA_RETRY_OTHER_NODE, {"memory", 6}};
  }
  /// `error` is internal, by infrastructure, and names plugin, verb and `what`.
  static void expect_broken(const Error& error, const std::string& verb, const std::string& what) {
    EXPECT_EQ(error.code, ErrorCode::internal) << error.message;
    EXPECT_EQ(error.cause, Cause::infrastructure);
    EXPECT_THAT(error.message, testing::HasSubstr("plugin 'test.harena.tiny' broke its contract in " + verb));
    EXPECT_THAT(error.message, testing::HasSubstr(what));
  }

  PluginHostOptions options;
  std::unique_ptr<PluginHost> host;
  std::vector<std::string> logged;
  std::vector<BackendEvent> events;
  CallContext call;
};

}  // namespace harena
