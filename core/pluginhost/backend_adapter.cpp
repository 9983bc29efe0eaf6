#include "core/pluginhost/backend_adapter.hpp"

#include <algorithm>

#include "core/model/project.hpp"
#include "core/pluginhost/backend_description.hpp"
#include "sdk/loader/tables.hpp"

namespace harena {

using loader::to_abi;
using nlohmann::json;

namespace {

json layers_json(const std::vector<LayerFile>& layers) {
  auto list = json::array();
  for (const auto& layer : layers) {
    list.push_back({{"digest", layer.digest}, {"path", layer.path}, {"format", layer.format}});
  }
  return list;
}

json request_json(const BackendCreateRequest& request, const json& params) {
  return json{{"sandbox_id", request.sandbox_id.str()},
              {"run_dir", request.run_dir},
              {"state_dir", request.state_dir},
              {"params", params},
              {"layers", layers_json(request.layers)},
              {"image_config", request.image_config},
              {"env", json::object()},
              {"labels", request.labels}};
}

std::string text_of(const json& document) { return document.dump(-1, ' ', false, json::error_handler_t::replace); }

std::optional<BackendRecovered::Status> recovered_status(const std::string& name) {
  using Status = BackendRecovered::Status;
  if (name == "running") return Status::running;
  if (name == "paused") return Status::paused;
  if (name == "gone") return Status::gone;
  return std::nullopt;
}

bool is_endpoint(const std::string& path) { return path.empty() || path.front() == '/'; }

}  // namespace

Result<std::unique_ptr<BackendAdapter>> BackendAdapter::make(std::shared_ptr<const loader::Instance> instance) {
  HARENA_TRY(const auto table, instance->backend());
  std::unique_ptr<BackendAdapter> adapter(new BackendAdapter(PluginCaller(instance), table));
  HARENA_TRY_STATUS(adapter->read_description());
  const auto& contracts = instance->library().contracts();
  if (std::find(contracts.begin(), contracts.end(), HARENA_BACKEND_CONTAINER_CONTRACT) != contracts.end()) {
    HARENA_TRY(adapter->container_, instance->backend_container());
    adapter->description_.verbs.insert("resize");
  }
  return adapter;
}

Status BackendAdapter::read_description() {
  HARENA_TRY(const auto document, caller_.call({}, "describe", table_.describe));
  HARENA_TRY(description_, parse_description(caller_, document, loader::optional_verbs(table_)));
  auto schema = schema::Schema::compile(description_.params_schema);
  if (!schema) return caller_.broken("describe", "gave a params_schema that can't be used: " + schema.error().message);
  params_schema_ = std::move(*schema);
  return ok_status();
}

Result<BackendProbe> BackendAdapter::probe(const CallContext& call) {
  HARENA_TRY(const auto document, caller_.call(call, "probe", table_.probe));
  ResultReader read(caller_, "probe", document);
  BackendProbe probe{read.boolean("usable"), read.strings("why_not"), read.object("facts")};
  if (auto wrong = read.error()) return std::move(*wrong);
  return probe;
}

Result<BackendCreated> BackendAdapter::create(const CallContext& call, const BackendCreateRequest& request) {
  HARENA_TRY(const auto wanted, request_of(request));
  const std::string text = text_of(wanted);
  HARENA_TRY(const auto document, caller_.call(call, "create", [&](void* self, const harena_call* record) {
    return table_.create(self, record, to_abi(text));
  }));
  return read_created("create", document);
}

Result<json> BackendAdapter::request_of(const BackendCreateRequest& request) const {
  HARENA_TRY(const auto params, params_schema_->apply(request.params, "params"));
  return request_json(request, params);
}

Result<BackendCreated> BackendAdapter::read_created(const char* verb, const json& document) const {
  ResultReader read(caller_, verb, document);
  BackendCreated created{read.string("state"), read.string_or("session_endpoint", ""), read.object("details")};
  read.require(created.state.size() <= kMaxStateBlobBytes,
               "gave a state of " + std::to_string(created.state.size()) + " bytes; at most " +
                   std::to_string(kMaxStateBlobBytes) + " are right");
  read.require(is_endpoint(created.session_endpoint), "gave a session_endpoint that is no absolute path");
  if (auto wrong = read.error()) return std::move(*wrong);
  return created;
}

Result<BackendRecovered> BackendAdapter::recover(const CallContext& call, const SandboxId& id,
                                                 const std::string& state) {
  HARENA_TRY(const auto document, caller_.call(call, "recover", [&](void* self, const harena_call* record) {
    return table_.recover(self, record, to_abi(id.str()), to_abi(state));
  }));
  ResultReader read(caller_, "recover", document);
  const auto status = recovered_status(read.string("status"));
  read.require(status.has_value(), "gave a status that is not running, paused or gone");
  BackendRecovered recovered{status.value_or(BackendRecovered::Status::gone), read.string_or("session_endpoint", ""),
                             read.string_or("cause", "none"), read.string_or("detail", "")};
  read.require(cause_from_string(recovered.cause).has_value(), "gave the cause '" + recovered.cause + "', which isn't one");
  read.require(is_endpoint(recovered.session_endpoint), "gave a session_endpoint that is no absolute path");
  if (auto wrong = read.error()) return std::move(*wrong);
  return recovered;
}

Status BackendAdapter::stop(const CallContext& call, const SandboxId& id, std::int64_t grace_ms) {
  HARENA_TRY([[maybe_unused]] const auto none, caller_.call(call, "stop", [&](void* self, const harena_call* record) {
    return table_.stop(self, record, to_abi(id.str()), grace_ms);
  }));
  return ok_status();
}

Result<std::vector<std::string>> BackendAdapter::sweep(const CallContext& call, const std::vector<SandboxId>& known) {
  auto ids = json::array();
  for (const auto& id : known) ids.push_back(id.str());
  const std::string text = ids.dump();
  std::lock_guard lock(control_);
  HARENA_TRY(const auto document, caller_.call(call, "sweep", [&](void* self, const harena_call* record) {
    return table_.sweep(self, record, to_abi(text));
  }));
  ResultReader read(caller_, "sweep", document);
  auto removed = read.strings("removed");
  if (auto wrong = read.error()) return std::move(*wrong);
  return removed;
}

Result<json> BackendAdapter::usage(const CallContext& call, const SandboxId& id) {
  return caller_.call(call, "usage", [&](void* self, const harena_call* record) {
    return table_.usage(self, record, to_abi(id.str()));
  });
}

Result<json> BackendAdapter::optional_verb(const CallContext& call, const char* verb, IdFunction function,
                                           const SandboxId& id) {
  if (!description_.verbs.contains(verb)) return absent_verb(description_, verb);
  return caller_.call(call, verb, [&](void* self, const harena_call* record) {
    return function(self, record, to_abi(id.str()));
  });
}

Result<json> BackendAdapter::pause(const CallContext& call, const SandboxId& id) {
  return optional_verb(call, "pause", table_.pause, id);
}

Result<json> BackendAdapter::resume(const CallContext& call, const SandboxId& id) {
  return optional_verb(call, "resume", table_.resume, id);
}

Result<BackendCreated> BackendAdapter::resize(const CallContext& call, const SandboxId& id, const BackendResizeRequest& request) {
  if (!container_) return absent_verb(description_, "resize");
  HARENA_TRY(const auto params, params_schema_->apply(request.params, "params"));
  const std::string text = json{{"before", request.before}, {"params", params}, {"details", request.details}}.dump(
      -1, ' ', false, json::error_handler_t::replace);
  HARENA_TRY(const auto document, caller_.call(call, "resize", [&](void* self, const harena_call* record) {
    return container_->resize(self, record, to_abi(id.str()), to_abi(text));
  }));
  ResultReader read(caller_, "resize", document);
  BackendCreated changed{.state = read.string_or("state", ""), .details = read.object("details")};
  if (auto wrong = read.error()) return std::move(*wrong);
  return changed;
}

}  // namespace harena
