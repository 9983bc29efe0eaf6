// read, write.
#include <algorithm>

#include "plugins/mcp/tools/tool.hpp"
#include "sdk/base/text.hpp"
#include "sdk/http/error.hpp"

namespace harena::mcp {

using http::Task;
using nlohmann::json;

namespace {

std::string files_target(const ToolCall& call) {
  std::string target = call.sandbox("/files?path=" + percent_encode(call.text("path")));
  if (call.has("user")) target += "&user=" + percent_encode(call.text("user"));
  return target;
}

/// The size behind the slash of "bytes 0-9/100" or "bytes */100".
std::int64_t total_of(const http::Headers& headers, std::int64_t otherwise) {
  const auto range = headers.get("Content-Range").value_or("");
  const auto slash = range.rfind('/');
  if (slash == std::string_view::npos) return otherwise;
  return parse_int(range.substr(slash + 1), 0, INT64_MAX, "size").value_or(otherwise);
}

/// Without the beginning of a character that the next part has the rest of.
std::string whole_characters(std::string bytes) {
  for (std::size_t cut = 0; cut < 4 && cut < bytes.size(); ++cut) {
    if (is_utf8(std::string_view(bytes).substr(0, bytes.size() - cut))) {
      bytes.resize(bytes.size() - cut);
      break;
    }
  }
  return bytes;
}

/// Of the formats that models look at; empty for others.
std::string image_type(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n")) return "image/png";
  if (bytes.starts_with("\xff\xd8\xff")) return "image/jpeg";
  if (bytes.starts_with("GIF8")) return "image/gif";
  if (bytes.size() > 12 && bytes.starts_with("RIFF") && bytes.substr(8, 4) == "WEBP") return "image/webp";
  return "";
}

json block_of(const std::string& path, const std::string& bytes, bool whole) {
  const auto type = image_type(bytes);
  if (whole && !type.empty()) return {{"type", "image"}, {"data", base64_encode(bytes)}, {"mimeType", type}};
  json resource = {{"uri", "file://" + percent_encode(path, true)}, {"mimeType", "application/octet-stream"}};
  resource["blob"] = base64_encode(bytes);
  return {{"type", "resource"}, {"resource", std::move(resource)}};
}

ToolAnswer read_answer(const ToolCall& call, std::string bytes, std::int64_t offset, std::int64_t size) {
  const bool is_cut = offset + static_cast<std::int64_t>(bytes.size()) < size;
  if (is_cut) bytes = whole_characters(std::move(bytes));
  const auto length = static_cast<std::int64_t>(bytes.size());
  const bool is_text = is_utf8(bytes);
  ToolAnswer answer;
  answer.content.push_back(is_text ? text_block(bytes) : block_of(call.text("path"), bytes, offset == 0 && !is_cut));
  answer.structured = {{"path", call.text("path")}, {"size", size}, {"offset", offset}, {"length", length}};
  answer.structured["more"] = offset + length < size;
  answer.structured["encoding"] = is_text ? "utf-8" : "base64";
  answer.structured["data"] = is_text ? bytes : base64_encode(bytes);
  return answer;
}

Result<std::string> bytes_of(const ToolCall& call) {
  if (call.has("text") == call.has("data_base64")) {
    return make_error(ErrorCode::invalid_argument, "one of text and data_base64 is right, not both and not none");
  }
  if (call.has("text")) return call.text("text");
  return base64_decode(call.text("data_base64"));
}

}  // namespace

ToolTask read_file(ToolCall& call) {
  const auto offset = call.arguments["offset"].get<std::int64_t>();
  const auto most = call.settings.max_output_bytes;
  const auto length = std::min(most, call.arguments.value("length", most));
  frontend::ApiRequest request{.method = "GET", .target = files_target(call), .token = call.token};
  request.headers.add("Range", "bytes=" + std::to_string(offset) + "-" + std::to_string(offset + length - 1));
  HARENA_CO_TRY(auto got, co_await call.api.fetch(std::move(request)));
  if (got.status == 416) {
    const auto size = total_of(got.headers, 0);
    if (offset == 0 || offset == size) co_return read_answer(call, "", offset, size);
    const std::string beyond = "offset is " + std::to_string(offset) + "; the file has " + std::to_string(size) + " bytes";
    co_return make_error(ErrorCode::out_of_range, beyond);
  }
  if (got.status >= 300) co_return http::parse_error(got.status, got.body);
  const auto size = total_of(got.headers, static_cast<std::int64_t>(got.body.size()));
  co_return read_answer(call, std::move(got.body), offset, size);
}

ToolTask write_file(ToolCall& call) {
  HARENA_CO_TRY(auto bytes, bytes_of(call));
  frontend::ApiRequest request{.method = "PUT", .target = files_target(call) + "&parents=true", .token = call.token};
  if (call.has("mode")) request.target += "&mode=" + percent_encode(call.text("mode"));
  request.text = std::move(bytes);
  HARENA_CO_TRY(const auto put, co_await call.api.fetch(std::move(request)));
  if (put.status >= 300) co_return http::parse_error(put.status, put.body);
  const auto stat = json::parse(put.body, nullptr, false);
  json answer = {{"path", call.text("path")}, {"size", stat.value("size", std::int64_t{0})}, {"mode", stat.value("mode", "")}};
  co_return answer_of(std::move(answer));
}

}  // namespace harena::mcp
