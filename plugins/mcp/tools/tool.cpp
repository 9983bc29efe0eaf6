#include "plugins/mcp/tools/tool.hpp"

#include "plugins/mcp/json_rpc.hpp"
#include "sdk/base/text.hpp"

namespace harena::mcp {

using http::Task;
using nlohmann::json;

std::string ToolCall::text(const char* name) const {
  const auto found = arguments.find(name);
  return found != arguments.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string ToolCall::sandbox(const std::string& rest) const { return "/v1/sandboxes/" + percent_encode(text("sandbox_id")) + rest; }

Task<Result<json>> ToolCall::ask(std::string method, std::string target, json body) {
  co_return co_await api.ask(std::move(method), std::move(target), token, std::move(body));
}

json text_block(std::string text) { return {{"type", "text"}, {"text", std::move(text)}}; }

ToolAnswer answer_of(json structured) {
  ToolAnswer answer;
  answer.content.push_back(text_block(dump(structured)));
  answer.structured = std::move(structured);
  return answer;
}

ToolAnswer error_answer(const Error& error) {
  std::string text = std::string(to_string(error.code)) + ": " + error.message;
  if (error.retry != Retry::never) text += " (it may work when tried again)";
  ToolAnswer answer;
  answer.content.push_back(text_block(std::move(text)));
  answer.is_error = true;
  return answer;
}

}  // namespace harena::mcp
