// Level 2, harena.backend/1: the optional verbs, for backends that have them.

#include "sdk/conformance/backend_kit.hpp"

namespace harena::conformance {
namespace {

void need_kept(Context& c, const json& document, const char* verb) {
  std::string kept = document.value("kept", "");
  if (kept != "memory" && kept != "filesystem" && !(kept.empty() && verb != std::string("snapshot"))) {
    c.fail(std::string(verb) + "'s \"kept\" is '" + kept + "'; memory or filesystem are right");
  }
}

void pause_and_resume(Context& c) {
  BackendRun run(c);
  run.need_verbs({"pause", "resume"});
  std::string id = run.create();
  for (int i = 0; i < 2; ++i) {
    need_kept(c, c.need(run->pause(id), "pause, time " + std::to_string(i + 1)), "pause");
    c.require(run.status_of(id) == "paused", "recover says '" + run.status_of(id) + "' of a paused sandbox");
  }
  run.restart();
  c.require(run.status_of(id) == "paused", "a paused sandbox isn't paused after a restart of the host");
  for (int i = 0; i < 2; ++i) {
    c.need(run->resume(id), "resume, time " + std::to_string(i + 1));
    c.require(run.status_of(id) == "running", "recover says '" + run.status_of(id) + "' of a resumed sandbox");
  }
  run.stop(id);
}

void stop_while_paused(Context& c) {
  BackendRun run(c);
  run.need_verbs({"pause"});
  std::string id = run.create();
  c.need(run->pause(id), "pause");
  run.stop(id);
  run.need_gone(id, "stop of a paused sandbox");
}

json take_snapshot(Context& c, BackendRun& run, const std::string& id) {
  auto folder = c.tmp() / ("snapshot-" + id);
  std::filesystem::create_directories(folder);
  json taken = c.need(run->snapshot(id, {{"snapshot_id", "s" + id}, {"dir", folder.string()}}), "snapshot");
  c.require(taken.value("state", json()).is_string(), "snapshot's result has no text \"state\": " + taken.dump());
  need_kept(c, taken, "snapshot");
  return taken;
}

void snapshot_and_restore(Context& c) {
  BackendRun run(c);
  run.need_verbs({"snapshot", "restore"});
  std::string id = run.create();
  json taken = take_snapshot(c, run, id);
  c.require(run.status_of(id) == "running", "snapshot ended the sandbox");
  run.stop(id);
  run.restart();
  std::string copy = c.new_id();
  json request = c.request(copy);
  request["snapshot_state"] = taken["state"];
  json restored = c.need(run->restore(request), "restore after its source was stopped and the host restarted");
  c.require(restored.value("state", json()).is_string(), "restore's result has no text \"state\"");
  c.require(run.status_of(copy) == "running", "a restored sandbox isn't running");
  c.need_error(run->restore(request), ErrorCode::already_exists, "restore to an id that is in use");
  run.stop(copy);
  run.need_gone(copy, "stop of a restored sandbox");
}

void delete_snapshot(Context& c) {
  BackendRun run(c);
  run.need_verbs({"snapshot", "restore"});
  std::string id = run.create();
  std::string copy = c.new_id();
  json taken = take_snapshot(c, run, id);
  json request = c.request(copy);
  request["snapshot_state"] = taken["state"];
  c.need(run->restore(request), "restore");
  std::filesystem::remove_all(c.tmp() / ("snapshot-" + id));
  for (int i = 0; i < 2; ++i) run.stop("s" + id);
  c.require(run.status_of(id) == "running", "the deletion of a snapshot ended the sandbox that it was taken of");
  c.require(run.status_of(copy) == "running", "the deletion of a snapshot ended a sandbox that was made of it");
  run.stop(id);
  run.stop(copy);
}

void restore_of_foreign_state(Context& c) {
  BackendRun run(c);
  run.need_verbs({"restore"});
  for (const char* state : {"", "nonsense", "{}", "\xff\xfe"}) {
    std::string id = c.new_id();
    json request = c.request(id);
    // Not UTF-8 can't be in JSON: the request as a whole is malformed then.
    std::string text = request.dump();
    text.insert(text.size() - 1, R"(,"snapshot_state":)" + (state[0] == '\xff' ? "\"" + std::string(state) + "\"" : json(state).dump()));
    c.require(!invoke(run->table.restore, run->self, {}, abi(text)).ok(), "restore of a foreign state succeeded");
    run.need_gone(id, "a failed restore");
  }
}

void rollback_to_snapshot(Context& c) {
  BackendRun run(c);
  run.need_verbs({"rollback", "snapshot"});
  std::string id = run.create();
  std::string state = take_snapshot(c, run, id)["state"];
  c.need(run->rollback(id, state), "rollback");
  c.need(run->rollback(id, state), "rollback, again");
  c.require(run.status_of(id) != "gone", "rollback ended the sandbox");
  c.require(!run->rollback(id, "nonsense").ok(), "rollback to a foreign state succeeded");
  c.require(run.status_of(id) != "gone", "a failed rollback ended the sandbox");
  run.stop(id);
}

void fork_children(Context& c) {
  BackendRun run(c);
  run.need_verbs({"fork"});
  std::string id = run.create();
  std::vector<std::string> ids = {c.new_id(), id, c.new_id()};  // the second is in use
  json requests = json::array();
  for (const auto& child : ids) requests.push_back(c.request(child));
  json children = c.need(run->fork(id, requests), "fork");
  c.require(children.is_array() && children.size() == 3, "fork's result isn't a list as long as its requests: " + children.dump());
  c.require(children[1].contains("error") && children[1]["error"].value("code", "") == "already_exists",
            "the child whose id is in use has " + children[1].dump() + "; an error already_exists is right");
  c.require(run.status_of(id) == "running", "fork ended its source");
  for (std::size_t i : {0, 2}) {
    c.require(children[i].contains("state"), "child " + std::to_string(i) + " has " + children[i].dump());
    c.require(run.status_of(ids[i]) == "running", "a child isn't running");
  }
  run.stop(id);
  c.require(run.status_of(ids[0]) == "running", "stop of the source ended a child");
  for (const auto& child : ids) run.stop(child);
}

void fork_of_none(Context& c) {
  BackendRun run(c);
  run.need_verbs({"fork"});
  std::string id = run.create();
  json children = c.need(run->fork(id, json::array()), "fork of no children");
  c.require(children == json::array(), "fork of no children gives " + children.dump());
  run.stop(id);
}

}  // namespace

std::vector<Case> backend_verb_cases() {
  return {
      {"pause_and_resume", 2, kBackendContract, "pause and resume are idempotent and outlive the host", pause_and_resume, 120},
      {"stop_while_paused", 2, kBackendContract, "a paused sandbox can be stopped", stop_while_paused},
      {"snapshot_and_restore", 2, kBackendContract, "a snapshot outlives its source and the host", snapshot_and_restore, 120},
      {"delete_snapshot", 2, kBackendContract, "a snapshot is deleted by its folder and a stop of its id, and nothing else ends by it", delete_snapshot, 120},
      {"restore_of_foreign_state", 2, kBackendContract, "restore of a state that isn't its own is an error that leaves nothing", restore_of_foreign_state},
      {"rollback_to_snapshot", 2, kBackendContract, "rollback keeps the id, and can be repeated", rollback_to_snapshot, 120},
      {"fork_children", 2, kBackendContract, "children come in order, each made or with its own error, and outlive their source", fork_children, 120},
      {"fork_of_none", 2, kBackendContract, "fork of no children makes none", fork_of_none},
  };
}

}  // namespace harena::conformance
