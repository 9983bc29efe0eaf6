// Level 2, harena.backend.container/1: other limits for a sandbox that lives.

#include "sdk/conformance/backend_kit.hpp"

namespace harena::conformance {
namespace {

const std::string kContract = HARENA_BACKEND_CONTAINER_CONTRACT;

class ContainerRun : public BackendRun {
 public:
  explicit ContainerRun(Context& c) : BackendRun(c) {}
  /// `before` and `after` whole, as the core gives them.
  Result<json> resize(Context& c, const std::string& id, const json& before, const json& after) {
    auto table = instance().backend_container();
    if (!table.ok()) c.fail("its functions: " + table.error().describe());
    const json request = {{"before", before}, {"params", after}, {"details", json::object()}};
    return invoke(table->resize, backend().self, {}, abi(id), abi(request.dump()));
  }
};

json params_of(Context& c) { return c.request(c.new_id())["params"]; }

/// The state from now on.
std::string state_after(Context& c, ContainerRun& run, const std::string& id, const json& changed) {
  if (!changed.contains("state")) return run.state_of(id);
  c.require(changed["state"].is_string(), "resize's \"state\" isn't a text: " + changed.dump());
  return changed["state"];
}

void need_status(Context& c, ContainerRun& run, const std::string& id, const std::string& state, const std::string& right, const std::string& when) {
  const std::string status = c.need(run->recover(id, state), "recover").value("status", "");
  c.require(status == right, "a sandbox is '" + status + "' " + when + "; " + right + " is right");
}

void resize_repeats(Context& c) {
  ContainerRun run(c);
  const std::string id = run.create();
  const json params = params_of(c);
  std::string state = run.state_of(id);
  for (int i = 0; i < 2; ++i) state = state_after(c, run, id, c.need(run.resize(c, id, params, params), "resize to what it has, time " + std::to_string(i + 1)));
  need_status(c, run, id, state, "running", "after a resize");
  run.restart();
  need_status(c, run, id, state, "running", "after a resize and a restart of the host");
  state_after(c, run, id, c.need(run.resize(c, id, params, params), "resize after a restart of the host"));
  run.stop(id);
  run.need_gone(id, "stop of a resized sandbox");
}

void resize_of_a_paused_one(Context& c) {
  ContainerRun run(c);
  run.need_verbs({"pause", "resume"});
  const std::string id = run.create();
  c.need(run->pause(id), "pause");
  const json params = params_of(c);
  const std::string state = state_after(c, run, id, c.need(run.resize(c, id, params, params), "resize of a paused sandbox"));
  need_status(c, run, id, state, "paused", "after a resize while it was paused");
  c.need(run->resume(id), "resume");
  run.stop(id);
}

void resize_refuses_by_name(Context& c) {
  ContainerRun run(c);
  const std::string id = run.create();
  const json params = params_of(c);
  for (const char* name : {"no_such_parameter", "hostname_of_nobody"}) {
    json wrong = params;
    wrong[name] = 1;
    const Error error = c.need_error(run.resize(c, id, params, wrong), ErrorCode::invalid_argument, "resize with an unknown parameter");
    c.require(error.message.find(name) != std::string::npos, "the error doesn't name the parameter '" + std::string(name) + "': " + error.message);
  }
  c.require(run.status_of(id) == "running", "a refused resize ended the sandbox");
  run.stop(id);
}

void resize_of_unknown_ids(Context& c) {
  ContainerRun run(c);
  const json params = params_of(c);
  c.need_error(run.resize(c, c.new_id(), params, params), ErrorCode::not_found, "resize of a sandbox that never was");
  const std::string id = run.create();
  run.stop(id);
  c.need_error(run.resize(c, id, params, params), ErrorCode::not_found, "resize of a stopped sandbox");
}

}  // namespace

std::vector<Case> container_cases() {
  return {
      {"resize_repeats", 2, kContract, "a resize can be repeated and outlives the host", resize_repeats, 120},
      {"resize_of_a_paused_one", 2, kContract, "a paused sandbox that is resized stays paused", resize_of_a_paused_one},
      {"resize_refuses_by_name", 2, kContract, "what can't change is refused by its name, and the sandbox goes on", resize_refuses_by_name},
      {"resize_of_unknown_ids", 2, kContract, "resize of what isn't there is not_found", resize_of_unknown_ids},
  };
}

}  // namespace harena::conformance
