#include "plugins/fake/fake_backend.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "plugins/fake/shim_process.hpp"

namespace harena::fake {
namespace {

constexpr const char* kStateVersion = "fake/1";
constexpr const char* kEveryone = "_all";  // owner of the configuration's rule counts; no sandbox id has a '_'

std::int64_t boot_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);  // goes on while the host is down, unlike a process's own clock
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

json public_view(const json& entry) {
  json view = {{"state", kStateVersion}, {"details", {{"note", entry["params"].value("note", "")}}}};
  if (entry.contains("session")) view["session_endpoint"] = entry["session"]["endpoint"];
  return view;
}

bool exited(const json& entry) { return entry.value("status", "") == "exited"; }
bool half_made(const json& entry) { return !entry.contains("status"); }

// Whatever ends a create, an exception too: a reservation that wasn't filled goes. A failure after the act (a lost
// reply) leaves the sandbox, which stop removes.
struct UndoHalfMade {
  const SandboxFiles& files;
  const std::string& id;
  ~UndoHalfMade() {
    if (half_made(files.read(id).value_or(json::object()))) (void)files.remove(id);
  }
};

json error_document(const Error& error) {
  return {{"error", {{"code", to_string(error.code)}, {"message", error.message}, {"cause", to_string(error.cause)},
                     {"cause_detail", error.cause_detail}, {"retry", to_string(error.retry)}}}};
}

Result<json> read_snapshot(std::string_view state) {
  json reference = json::parse(state, nullptr, false);
  if (!reference.is_object() || !reference.contains("path")) {
    return make_error(ErrorCode::invalid_argument, "snapshot state '" + std::string(state.substr(0, 80)) + "' isn't one of the fake's");
  }
  std::ifstream file(reference["path"].get<std::string>(), std::ios::binary);
  json snapshot = json::parse(std::string((std::istreambuf_iterator<char>(file)), {}), nullptr, false);
  if (!snapshot.is_object()) return make_error(ErrorCode::data_loss, "snapshot file '" + reference["path"].get<std::string>() + "' is missing or damaged");
  return snapshot;
}

}  // namespace

Result<std::unique_ptr<FakeBackend>> FakeBackend::make(const Call&, Host host, const json& config) {
  HARENA_TRY(auto files, SandboxFiles::open(config.at("state_dir").get<std::string>()));
  return std::make_unique<FakeBackend>(host, config, std::move(files));
}

FakeBackend::FakeBackend(Host host, json config, SandboxFiles files)
    : host_(host), config_(std::move(config)), files_(std::move(files)),
      script_(config_.at("script"), files_.counts_folder(), kEveryone),
      exits_([this](const std::string& id) { on_exit(id); }) {}

bool FakeBackend::has_verb(std::string_view verb) const {
  const auto& verbs = config_.at("verbs");
  return std::any_of(verbs.begin(), verbs.end(), [&](const json& name) { return name.get_ref<const std::string&>() == verb; });
}

Status FakeBackend::play(const Call& call, std::string_view verb, std::string_view when, const std::string& id) const {
  HARENA_TRY_STATUS(script_.play(call, verb, when));
  auto entry = id.empty() ? Result<json>(json::object()) : files_.read(id);
  if (!entry.ok() || half_made(*entry)) return ok_status();
  return Script((*entry)["params"].value("script", json::array()), files_.counts_folder(), id).play(call, verb, when);
}

Result<json> FakeBackend::describe(const Call& call) {
  HARENA_TRY_STATUS(play(call, "describe", "before", ""));
  json kept = json::object();
  for (const char* verb : {"pause", "snapshot", "fork"}) {
    if (has_verb(verb)) kept[verb] = "memory";
  }
  return json{{"name", config_["name"]}, {"params_schema", json::parse(kParamsSchema)}, {"kept", kept},
              {"session", !config_["shim"].get<std::string>().empty()}, {"needs_image", config_["needs_image"]}};
}

Result<json> FakeBackend::probe(const Call& call) {
  HARENA_TRY_STATUS(play(call, "probe", "before", ""));
  return json{{"usable", config_["usable"]}, {"why_not", config_["why_not"]}, {"facts", {{"sandboxes", files_.ids().size()}}}};
}

Status FakeBackend::check_capacity() const {
  auto capacity = config_["capacity"].get<std::size_t>();
  if (capacity == 0 || files_.ids().size() < capacity) return ok_status();
  Error full = make_error(ErrorCode::resource_exhausted, "the fake has its " + std::to_string(capacity) + " sandboxes");
  full.retry = Retry::other_node;
  return full;
}

Result<json> FakeBackend::create(const Call& call, const json& request) {
  return make_sandbox(call, "create", request, request.value("params", json::object()));
}

Result<json> FakeBackend::make_sandbox(const Call& call, std::string_view verb, const json& request, const json& params) {
  std::string id = request.at("sandbox_id");
  HARENA_TRY_STATUS(check_id(id));
  HARENA_TRY_STATUS(check_capacity());
  HARENA_TRY_STATUS(files_.reserve(id));
  UndoHalfMade undo{files_, id};
  return fill_sandbox(call, verb, request, params);
}

Result<json> FakeBackend::fill_sandbox(const Call& call, std::string_view verb, const json& request, const json& params) {
  std::string id = request.at("sandbox_id");
  HARENA_TRY_STATUS(script_.play(call, verb, "before"));
  Script own(params.value("script", json::array()), files_.counts_folder(), id);
  HARENA_TRY_STATUS(own.play(call, verb, "before"));
  json entry = {{"status", "running"}, {"params", params}, {"born_ms", boot_ms()}};
  if (params.value("session", "none") == "host") {
    HARENA_TRY(entry["session"], start_shim(call, config_["shim"], request.at("run_dir"), id, mark_of(id)));
  }
  auto written = call.check();
  if (written.ok()) written = files_.write(id, entry);
  if (!written.ok()) {
    stop_shim(entry.value("session", json::object()), 0);
    return std::move(written).error();
  }
  arm_exit(id, entry);
  HARENA_TRY_STATUS(play(call, verb, "after", id));
  return public_view(entry);
}

Result<json> FakeBackend::recover(const Call& call, std::string_view sandbox_id, std::string_view) {
  std::string id(sandbox_id);
  HARENA_TRY_STATUS(check_id(id));
  HARENA_TRY_STATUS(play(call, "recover", "before", id));
  auto entry = files_.read(id);
  auto gone = [](std::string cause, std::string detail) { return json{{"status", "gone"}, {"cause", cause}, {"detail", detail}}; };
  if (!entry.ok() || half_made(*entry)) return gone("infrastructure", "the fake has no such sandbox");
  if (exited(*entry)) return gone((*entry)["params"]["exit"].value("cause", "agent"), (*entry)["params"]["exit"].value("detail", ""));
  if ((*entry)["params"].value("gone_on_recover", false)) return gone("infrastructure", "scripted");
  if (entry->contains("session") && !shim_runs((*entry)["session"])) return gone("infrastructure", "harena-shim ended");
  arm_exit(id, *entry);
  json result = {{"status", (*entry)["status"]}};
  if (entry->contains("session")) result["session_endpoint"] = (*entry)["session"]["endpoint"];
  return result;
}

Status FakeBackend::stop(const Call& call, std::string_view sandbox_id, std::int64_t grace_ms) {
  std::string id(sandbox_id);
  HARENA_TRY_STATUS(check_id(id));
  HARENA_TRY_STATUS(play(call, "stop", "before", id));
  exits_.cancel(id);
  // The "after" rules are the sandbox's own, and go with it.
  auto entry = files_.read(id).value_or(json::object());
  Script own(half_made(entry) ? json::array() : entry["params"].value("script", json::array()), files_.counts_folder(), id);
  end_session(id, entry, grace_ms);
  HARENA_TRY_STATUS(files_.remove(id));
  HARENA_TRY_STATUS(script_.play(call, "stop", "after"));
  return own.play(call, "stop", "after");
}

std::string FakeBackend::mark_of(const std::string& id) const { return config_["state_dir"].get<std::string>() + "/" + id; }

// Half-made by a host that was killed: its shim may run and isn't in the entry yet.
void FakeBackend::end_session(const std::string& id, const json& entry, std::int64_t grace_ms) const {
  bool may_have_one = !config_["shim"].get<std::string>().empty() && files_.read(id).ok();
  if (half_made(entry) && may_have_one) end_marked(mark_of(id));
  stop_shim(entry.value("session", json::object()), grace_ms);
}

Result<json> FakeBackend::sweep(const Call& call, const std::vector<std::string>& known_ids) {
  HARENA_TRY_STATUS(play(call, "sweep", "before", ""));
  json removed = json::array();
  for (const auto& id : files_.ids()) {
    if (std::ranges::find(known_ids, id) != known_ids.end()) continue;
    exits_.cancel(id);
    end_session(id, files_.read(id).value_or(json::object()), 0);
    HARENA_TRY_STATUS(files_.remove(id));
    removed.push_back(id);
  }
  return json{{"removed", removed}};
}

Result<json> FakeBackend::usage(const Call& call, std::string_view sandbox_id) {
  std::string id(sandbox_id);
  HARENA_TRY_STATUS(check_id(id));
  HARENA_TRY_STATUS(play(call, "usage", "before", id));
  HARENA_TRY(json entry, files_.read(id));
  if (half_made(entry)) return make_error(ErrorCode::not_found, "sandbox '" + id + "' isn't made yet");
  json usage = {{"cpu_ns", 0}, {"memory_bytes", 0}, {"memory_peak_bytes", 0}, {"pids", 0}, {"oom_kills", 0}};
  usage.update(entry["params"].value("usage", json::object()));
  return usage;
}

Result<json> FakeBackend::set_status(const Call& call, std::string_view verb, std::string_view sandbox_id, const char* status) {
  std::string id(sandbox_id);
  HARENA_TRY_STATUS(check_id(id));
  HARENA_TRY_STATUS(play(call, verb, "before", id));
  HARENA_TRY(json entry, files_.read(id));
  if (half_made(entry)) return make_error(ErrorCode::not_found, "sandbox '" + id + "' isn't made yet");
  if (exited(entry)) return make_error(ErrorCode::failed_precondition, "sandbox '" + id + "' has exited");
  entry["status"] = status;
  HARENA_TRY_STATUS(files_.write(id, entry));
  HARENA_TRY_STATUS(play(call, verb, "after", id));
  return json{{"kept", "memory"}};
}

Result<json> FakeBackend::pause(const Call& call, std::string_view id) { return set_status(call, "pause", id, "paused"); }
Result<json> FakeBackend::resume(const Call& call, std::string_view id) { return set_status(call, "resume", id, "running"); }

Result<json> FakeBackend::snapshot(const Call& call, std::string_view sandbox_id, const json& request) {
  std::string id(sandbox_id);
  HARENA_TRY_STATUS(check_id(id));
  HARENA_TRY_STATUS(play(call, "snapshot", "before", id));
  HARENA_TRY(json entry, files_.read(id));
  if (half_made(entry)) return make_error(ErrorCode::not_found, "sandbox '" + id + "' isn't made yet");
  std::string path = request.at("dir").get<std::string>() + "/" + "fake-snapshot.json";
  std::string text = json{{"params", entry["params"]}}.dump();
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return errno_error(errno, "writing the snapshot " + path);
  HARENA_TRY_STATUS(play(call, "snapshot", "after", id));
  return json{{"state", json{{"path", path}}.dump()}, {"kept", "memory"}, {"bytes", text.size()}};
}

Result<json> FakeBackend::restore(const Call& call, const json& request) {
  HARENA_TRY(json snapshot, read_snapshot(request.at("snapshot_state").get<std::string>()));
  json params = snapshot.at("params");
  params.update(request.value("params", json::object()));
  return make_sandbox(call, "restore", request, params);
}

Result<json> FakeBackend::fork(const Call& call, std::string_view sandbox_id, const json& requests) {
  std::string id(sandbox_id);
  HARENA_TRY_STATUS(check_id(id));
  HARENA_TRY_STATUS(play(call, "fork", "before", id));
  HARENA_TRY(json entry, files_.read(id));
  if (half_made(entry)) return make_error(ErrorCode::not_found, "sandbox '" + id + "' isn't made yet");
  json children = json::array();
  for (const auto& request : requests) {
    json params = entry["params"];
    params.erase("exit");
    auto child = make_sandbox(call, "create", request, params);
    children.push_back(child.ok() ? *child : error_document(child.error()));
  }
  HARENA_TRY_STATUS(play(call, "fork", "after", id));
  return children;
}

Status FakeBackend::rollback(const Call& call, std::string_view sandbox_id, std::string_view snapshot_state) {
  std::string id(sandbox_id);
  HARENA_TRY_STATUS(check_id(id));
  HARENA_TRY_STATUS(play(call, "rollback", "before", id));
  HARENA_TRY(json entry, files_.read(id));
  if (half_made(entry)) return make_error(ErrorCode::not_found, "sandbox '" + id + "' isn't made yet");
  HARENA_TRY(json snapshot, read_snapshot(snapshot_state));
  entry["params"] = snapshot.at("params");
  HARENA_TRY_STATUS(files_.write(id, entry));
  return play(call, "rollback", "after", id);
}

void FakeBackend::arm_exit(const std::string& id, const json& entry) {
  if (!entry["params"].contains("exit")) return;
  auto left = entry["born_ms"].get<std::int64_t>() + entry["params"]["exit"]["after_ms"].get<std::int64_t>() - boot_ms();
  exits_.set(id, ExitTimer::Clock::now() + std::chrono::milliseconds(std::max<std::int64_t>(left, 0)));
}

void FakeBackend::on_exit(const std::string& id) {
  auto entry = files_.read(id);
  if (!entry.ok() || half_made(*entry)) return;  // stopped meanwhile
  (*entry)["status"] = "exited";
  if (auto written = files_.write(id, *entry); !written.ok()) host_.error(written.error().describe());
  stop_shim(entry->value("session", json::object()), 0);
  const json& exit = (*entry)["params"]["exit"];
  host_.sandbox_exited(id, cause_from_string(exit.value("cause", "agent")).value_or(Cause::agent), exit.value("detail", ""));
}

}  // namespace harena::fake
