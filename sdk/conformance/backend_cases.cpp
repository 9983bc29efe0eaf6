// Level 2, harena.backend/1: documents, the life of a sandbox, idempotence, unknown ids, recovery, sweeping.

#include <algorithm>
#include <set>

#include "sdk/conformance/backend_kit.hpp"
#include "sdk/schema/schema.hpp"

namespace harena::conformance {
namespace {

void describe_document(Context& c) {
  auto instance = c.instance();
  auto d = c.need(BackendDriver::of(*instance), "its functions");
  json document = c.need(d.describe(), "describe");
  c.require(document.value("name", json()).is_string(), "describe has no text \"name\": " + document.dump());
  c.require(document.value("session", json()).is_boolean(), "describe has no boolean \"session\"");
  c.require(document.value("needs_image", json()).is_boolean(), "describe has no boolean \"needs_image\"");
  c.require(document.contains("params_schema"), "describe has no \"params_schema\"");
  c.need(schema::Schema::compile(document["params_schema"]), "its params_schema");
  c.require(document["params_schema"].value("additionalProperties", json(true)) == false,
            "its params_schema doesn't say \"additionalProperties\": false, so misspelt parameters are ignored");
  auto sorted = [](std::vector<std::string> names) { return std::set<std::string>(names.begin(), names.end()); };
  auto verbs = sorted(document.value("verbs", std::vector<std::string>()));
  c.require(verbs == sorted(loader::optional_verbs(d.table)), "describe's verbs " + json(verbs).dump() + " aren't the functions that are there: " +
                                                                  json(loader::optional_verbs(d.table)).dump());
  c.require(document == c.need(d.describe(), "describe"), "describe changes during the life of an instance");
}

void probe_document(Context& c) {
  auto instance = c.instance();
  json probe = c.need(c.need(BackendDriver::of(*instance), "its functions").probe(), "probe");
  c.require(probe.value("usable", json()).is_boolean(), "probe has no boolean \"usable\": " + probe.dump());
  c.require(probe.value("why_not", json::array()).is_array(), "probe's \"why_not\" isn't a list");
  c.require(probe.value("facts", json::object()).is_object(), "probe's \"facts\" isn't an object");
  c.require(probe["usable"] == true || !probe.value("why_not", json::array()).empty(), "probe says unusable and not why");
}

void create_and_stop(Context& c) {
  BackendRun run(c);
  std::string id = run.create();
  c.require(run.status_of(id) == "running", "recover says '" + run.status_of(id) + "' of a new sandbox; running is right");
  json usage = c.need(run->usage(id), "usage");
  for (const auto& [key, value] : usage.items()) c.require(value.is_number(), "usage's " + key + " isn't a number");
  run.stop(id);
  run.need_gone(id, "stop");
}

void session_endpoint(Context& c) {
  BackendRun run(c);
  json described = c.need(run->describe(), "describe");
  std::string id = c.new_id();
  json made = c.need(run->create(c.request(id)), "create");
  std::string endpoint = made.value("session_endpoint", "");
  if (!endpoint.empty()) c.require(std::filesystem::is_socket(endpoint), "session_endpoint '" + endpoint + "' isn't a socket");
  run.stop(id);
  if (endpoint.empty() && described["session"] == true) c.skip("this request makes no session");
}

void stop_is_idempotent(Context& c) {
  BackendRun run(c);
  c.need(run->stop(c.new_id()), "stop of an id that was never made");
  std::string id = run.create();
  for (int i = 0; i < 3; ++i) c.need(run->stop(id), "stop, time " + std::to_string(i + 1));
}

void create_refuses_a_used_id(Context& c) {
  BackendRun run(c);
  std::string id = run.create();
  c.need_error(run->create(c.request(id)), ErrorCode::already_exists, "create of an id that is in use");
  c.require(run.status_of(id) == "running", "the second create harmed the first sandbox");
  run.stop(id);
}

void an_id_can_be_made_again(Context& c) {
  BackendRun run(c);
  std::string id = run.create();
  run.stop(id);
  c.need(run->create(c.request(id)), "create of an id that was stopped");
  run.stop(id);
}

void unknown_ids(Context& c) {
  BackendRun run(c);
  std::string id = c.new_id();
  c.need_error(run->usage(id), ErrorCode::not_found, "usage of an unknown id");
  c.require(run.status_of(id) == "gone", "recover finds an id that was never made");
  if (run.has_verb("pause")) {
    c.need_error(run->pause(id), ErrorCode::not_found, "pause of an unknown id");
    c.need_error(run->resume(id), ErrorCode::not_found, "resume of an unknown id");
  }
  if (run.has_verb("snapshot")) {
    c.need_error(run->snapshot(id, {{"snapshot_id", "s"}, {"dir", c.tmp().string()}}), ErrorCode::not_found, "snapshot of an unknown id");
  }
  if (run.has_verb("fork")) c.need_error(run->fork(id, {c.request(c.new_id())}), ErrorCode::not_found, "fork of an unknown id");
}

void foreign_state(Context& c) {
  BackendRun run(c);
  for (const char* state : {"", "nonsense", "{}", "[1]", "\xff", "{\"version\":999999,\"pid\":1}"}) {
    auto found = run->recover(c.new_id(), state);
    if (found.ok()) c.require((*found)["status"] == "gone", std::string("recover with the state '") + state + "' finds a sandbox that was never made");
    if (!found.ok()) c.require(found.error().code != ErrorCode::internal, "recover with foreign state: " + found.error().describe());
  }
}

void recover_after_restart(Context& c) {
  BackendRun run(c);
  std::string id = run.create(), other = run.create();
  run.stop(other);
  run.restart();
  for (int i = 0; i < 2; ++i) {
    c.require(run.status_of(id) == "running", "after a restart recover says '" + run.status_of(id) + "' of a running sandbox");
    c.require(run.status_of(other) == "gone", "after a restart recover finds a stopped sandbox");
  }
  c.need(run->usage(id), "usage of a recovered sandbox");
  run.stop(id);
  run.need_gone(id, "stop of a recovered sandbox");
}

void sweep_removes_orphans(Context& c) {
  BackendRun run(c);
  std::string known = run.create(), orphan = run.create();
  run.restart();
  json removed = c.need(run->sweep({known}), "sweep").value("removed", json());
  c.require(removed == json::array({orphan}), "sweep removed " + removed.dump() + "; [\"" + orphan + "\"] is right");
  removed = c.need(run->sweep({known}), "sweep again").value("removed", json());
  c.require(removed == json::array(), "the second sweep removed " + removed.dump() + "; nothing is right");
  c.require(run.status_of(orphan) == "gone", "the orphan is still there after sweep");
  run.stop(known);
}

void sweep_spares_known(Context& c) {
  BackendRun run(c);
  std::string known = run.create();
  c.need(run->sweep({known, c.new_id()}), "sweep");
  c.require(run.status_of(known) == "running", "sweep removed a known sandbox");
  run.stop(known);
}

void bad_ids(Context& c) {
  BackendRun run(c);
  auto marker = c.tmp() / "untouched";
  std::filesystem::create_directories(marker);
  for (const char* id : {"../untouched", "/", "..", ""}) {
    auto stopped = run->stop(id);
    if (!stopped.ok()) c.require(stopped.error().code == ErrorCode::invalid_argument, "stop('" + std::string(id) + "'): " + stopped.error().describe());
    c.require(!run->usage(id).ok(), "usage('" + std::string(id) + "') succeeded");
  }
  c.require(std::filesystem::exists(marker), "stop('../untouched') removed a folder that isn't a sandbox's");
}

}  // namespace

std::vector<Case> backend_cases() {
  return {
      {"describe_document", 2, kBackendContract, "describe is whole, constant, and lists the verbs that are there", describe_document},
      {"probe_document", 2, kBackendContract, "probe says usable or why not", probe_document},
      {"create_and_stop", 2, kBackendContract, "a sandbox is made, measured, stopped, and then gone", create_and_stop},
      {"session_endpoint", 2, kBackendContract, "a session endpoint is a socket that exists", session_endpoint},
      {"stop_is_idempotent", 2, kBackendContract, "stop succeeds for unknown ids and again", stop_is_idempotent},
      {"create_refuses_a_used_id", 2, kBackendContract, "a second create of an id is already_exists and harms nothing", create_refuses_a_used_id},
      {"an_id_can_be_made_again", 2, kBackendContract, "an id that was stopped leaves nothing in the way of a new create", an_id_can_be_made_again},
      {"unknown_ids", 2, kBackendContract, "verbs on unknown ids are not_found, recover says gone", unknown_ids},
      {"bad_ids", 2, kBackendContract, "ids that aren't ids reach no file", bad_ids},
      {"foreign_state", 2, kBackendContract, "recover with a state that isn't its own never crashes or finds something", foreign_state},
      {"recover_after_restart", 2, kBackendContract, "a restarted host finds its sandboxes again", recover_after_restart, 120},
      {"sweep_removes_orphans", 2, kBackendContract, "sweep removes what isn't known, and says what", sweep_removes_orphans, 120},
      {"sweep_spares_known", 2, kBackendContract, "sweep leaves known sandboxes alone", sweep_spares_known},
  };
}

}  // namespace harena::conformance
