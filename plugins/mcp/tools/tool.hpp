#pragma once
// A tool: what it is given and what it answers. Each asks the core's API with the caller's token, and nothing else.

#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "plugins/mcp/calls_under_way.hpp"
#include "plugins/mcp/event_stream.hpp"
#include "plugins/mcp/settings.hpp"
#include "sdk/frontend/api_client.hpp"

namespace harena::mcp {

struct ToolCall {
  frontend::ApiClient& api;
  const Settings& settings;
  std::string token;
  nlohmann::json arguments;  ///< valid against the tool's inputSchema, with its defaults
  EventStream& stream;
  CallUnderWay& under_way;
  /// 2026-07-28: a client that closes the connection has cancelled. Before, it has only lost it.
  bool ends_with_client = false;

  /// An argument that is a text; empty when it wasn't given.
  std::string text(const char* name) const;
  bool has(const char* name) const { return arguments.contains(name); }
  /// "/v1/sandboxes/ID" of the argument sandbox_id, and what comes behind it.
  std::string sandbox(const std::string& rest = "") const;
  http::Task<Result<nlohmann::json>> ask(std::string method, std::string target, nlohmann::json body = nullptr);
};

struct ToolAnswer {
  nlohmann::json content = nlohmann::json::array();  ///< for the model
  nlohmann::json structured = nullptr;               ///< valid against outputSchema
  bool is_error = false;
};

using ToolTask = http::Task<Result<ToolAnswer>>;
/// Errors become an answer with isError, but for unauthenticated, which is the request's.
using ToolFunction = std::function<ToolTask(ToolCall&)>;

nlohmann::json text_block(std::string text);
/// Its structured form, and the same as text for models that only see that.
ToolAnswer answer_of(nlohmann::json structured);
/// What the model is told of an error: code, message and, if a repetition may help, that.
ToolAnswer error_answer(const Error& error);

ToolTask create_sandbox(ToolCall& call);
ToolTask list_things(ToolCall& call);
ToolTask kill_sandbox(ToolCall& call);
ToolTask run_command(ToolCall& call);
ToolTask read_file(ToolCall& call);
ToolTask write_file(ToolCall& call);

}  // namespace harena::mcp
