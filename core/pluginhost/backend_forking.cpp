// BackendAdapter's snapshot, restore, fork and rollback.
#include "core/pluginhost/backend_adapter.hpp"
#include "core/pluginhost/backend_description.hpp"
#include "sdk/loader/tables.hpp"

namespace harena {

using loader::to_abi;
using nlohmann::json;

namespace {

std::string request_text(const json& document) { return document.dump(-1, ' ', false, json::error_handler_t::replace); }

/// The error of one child. What isn't one is the plugin's mistake.
Error child_error(const PluginCaller& caller, const json& document) {
  ResultReader read(caller, "fork", document);
  const auto code = error_code_from_string(read.string("code"));
  read.require(code.has_value(), "gave a child an error whose code isn't one");
  if (auto wrong = read.error()) return *std::move(wrong);
  Error error = make_error(*code, document.value("message", ""));
  error.cause = cause_from_string(document.value("cause", "none")).value_or(Cause::none);
  error.cause_detail = document.value("cause_detail", "");
  error.retry = retry_from_string(document.value("retry", "never")).value_or(Retry::never);
  return error;
}

}  // namespace

Result<std::vector<Result<BackendCreated>>> BackendAdapter::fork(const CallContext& call, const SandboxId& id,
                                                                 const std::vector<BackendCreateRequest>& requests) {
  if (!description_.verbs.contains("fork")) return absent_verb(description_, "fork");
  json wanted = json::array();
  for (const auto& request : requests) {
    HARENA_TRY(auto one, request_of(request));
    wanted.push_back(std::move(one));
  }
  const std::string text = request_text(wanted);
  HARENA_TRY(const auto document, caller_.call(call, "fork", [&](void* self, const harena_call* record) {
    return table_.fork(self, record, to_abi(id.str()), to_abi(text));
  }));
  if (!document.is_array() || document.size() != requests.size()) {
    return caller_.broken("fork", "gave no list of " + std::to_string(requests.size()) + " children");
  }
  std::vector<Result<BackendCreated>> children;
  for (const auto& child : document) {
    if (child.is_object() && child.contains("error")) {
      children.emplace_back(child_error(caller_, child["error"]));
    } else {
      children.push_back(read_created("fork", child));
    }
  }
  return children;
}

Result<BackendSnapshot> BackendAdapter::snapshot(const CallContext& call, const SandboxId& id, const SandboxId& snapshot_id,
                                                 const std::string& dir) {
  if (!description_.verbs.contains("snapshot")) return absent_verb(description_, "snapshot");
  const std::string text = json{{"snapshot_id", snapshot_id.str()}, {"dir", dir}}.dump();
  HARENA_TRY(auto document, caller_.call(call, "snapshot", [&](void* self, const harena_call* record) {
    return table_.snapshot(self, record, to_abi(id.str()), to_abi(text));
  }));
  ResultReader read(caller_, "snapshot", document);
  BackendSnapshot snapshot{read.string("state"), read.string("kept"), json::object()};
  read.require(snapshot.kept == "memory" || snapshot.kept == "filesystem",
               "kept '" + snapshot.kept.substr(0, 40) + "'; memory or filesystem are right");
  read.require(snapshot.state.size() <= kMaxStateBlobBytes,
               "gave a state of " + std::to_string(snapshot.state.size()) + " bytes; at most " +
                   std::to_string(kMaxStateBlobBytes) + " are right");
  if (auto wrong = read.error()) return std::move(*wrong);
  document.erase("state");
  document.erase("kept");
  snapshot.details = std::move(document);
  return snapshot;
}

Result<BackendCreated> BackendAdapter::restore(const CallContext& call, const BackendCreateRequest& request,
                                               const std::string& snapshot_state) {
  if (!description_.verbs.contains("restore")) return absent_verb(description_, "restore");
  HARENA_TRY(auto wanted, request_of(request));
  wanted["snapshot_state"] = snapshot_state;
  const std::string text = request_text(wanted);
  HARENA_TRY(const auto document, caller_.call(call, "restore", [&](void* self, const harena_call* record) {
    return table_.restore(self, record, to_abi(text));
  }));
  return read_created("restore", document);
}

Status BackendAdapter::rollback(const CallContext& call, const SandboxId& id, const std::string& snapshot_state) {
  if (!description_.verbs.contains("rollback")) return absent_verb(description_, "rollback");
  HARENA_TRY([[maybe_unused]] const auto none, caller_.call(call, "rollback", [&](void* self, const harena_call* record) {
    return table_.rollback(self, record, to_abi(id.str()), to_abi(snapshot_state));
  }));
  return ok_status();
}

}  // namespace harena
