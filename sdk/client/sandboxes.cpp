#include "sdk/client/sandboxes.hpp"

#include "sdk/base/text.hpp"

namespace harena::client {

namespace {

/// A creation may wait for an image or for room.
constexpr std::chrono::minutes kCreateSilence{10};

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

}  // namespace

SandboxInfo SandboxInfo::from_json(const json& body) {
  SandboxInfo info;
  info.id = text_or(body, "id");
  info.backend = text_or(body, "backend");
  info.state = text_or(body, "state");
  info.project = text_or(body, "project");
  info.task = text_or(body, "task");
  info.image = text_or(body, "image");
  if (const auto at = body.find("created_ms"); at != body.end() && at->is_number()) info.created_ms = at->get<std::int64_t>();
  info.raw = body;
  return info;
}

Result<SandboxInfo> Sandboxes::create(const std::string& backend, json body) {
  if (!body.contains("idempotency_key")) body["idempotency_key"] = client_.unique_key();
  Request request{.method = "POST", .target = "/backends/" + segment(backend) + "/sandboxes"};
  request.content_type = "application/json";
  request.body = body.dump(-1, ' ', false, json::error_handler_t::replace);
  request.read_timeout = kCreateSilence;
  HARENA_TRY(const auto answer, client_.exchange(request, true));
  return SandboxInfo::from_json(answer);
}

Result<SandboxInfo> Sandboxes::get(const std::string& id) {
  HARENA_TRY(const auto answer, client_.get("/sandboxes/" + segment(id)));
  return SandboxInfo::from_json(answer);
}

Status Sandboxes::list(const SandboxFilter& filter, const std::function<Status(const SandboxInfo&)>& on_sandbox) {
  std::vector<std::pair<std::string, std::string>> pairs = {{"project", filter.project},
                                                            {"task", filter.task},
                                                            {"backend", filter.backend},
                                                            {"state", joined(filter.states)}};
  for (const auto& label : filter.labels) pairs.emplace_back("label", label);
  return client_.pages("/sandboxes" + query(pairs), "sandboxes",
                       [&](const json& entry) { return on_sandbox(SandboxInfo::from_json(entry)); });
}

Result<SandboxInfo> Sandboxes::resize(const std::string& id, json params) {
  HARENA_TRY(const auto answer, client_.patch("/sandboxes/" + segment(id), json{{"params", std::move(params)}}));
  return SandboxInfo::from_json(answer);
}

Result<SandboxInfo> Sandboxes::stop(const std::string& id, std::int64_t grace_ms) {
  return act(id, "stop", {{"grace_ms", grace_ms}});
}

Result<json> Sandboxes::backends() {
  HARENA_TRY(const auto answer, client_.get("/backends"));
  return answer.value("backends", json::array());
}

Result<SandboxInfo> Sandboxes::act(const std::string& id, const char* verb, const json& body) {
  HARENA_TRY(const auto answer, client_.post("/sandboxes/" + segment(id) + "/" + verb, body, true));
  return SandboxInfo::from_json(answer);
}

}  // namespace harena::client
