// The routes of the control API. Segments are split on the raw path and decoded afterwards: `team%2Fname` is one.
#include "plugins/e2b/control/list_calls.hpp"
#include "plugins/e2b/control/sandbox_calls.hpp"
#include "plugins/e2b/control/snapshot_calls.hpp"
#include "plugins/e2b/control/template_calls.hpp"

namespace harena::e2b {

void Control::add_sandboxes() {
  add("POST", "/v2/sandboxes", "create", create_sandbox_v2);
  add("POST", "/sandboxes", "create", create_sandbox_legacy);
  add("GET", "/v2/sandboxes", "list", list_sandboxes_v2);
  add("GET", "/sandboxes", "list", list_sandboxes_v1);
  add("GET", "/sandboxes/metrics", "metrics", metrics_of_sandboxes);
  add("GET", "/sandboxes/{id}", "info", sandbox_info);
  add("DELETE", "/sandboxes/{id}", "kill", kill_sandbox);
  add("POST", "/v2/sandboxes/{id}/connect", "connect", connect_sandbox_v2);
  add("POST", "/sandboxes/{id}/connect", "connect", connect_sandbox_legacy);
  add("POST", "/sandboxes/{id}/resume", "resume", resume_sandbox);
  add("POST", "/sandboxes/{id}/pause", "pause", pause_sandbox);
  add("POST", "/sandboxes/{id}/timeout", "timeout", set_sandbox_timeout);
  add("POST", "/sandboxes/{id}/refreshes", "refresh", refresh_sandbox);
  add("PUT", "/sandboxes/{id}/network", "network", update_sandbox_network);
  add("GET", "/sandboxes/{id}/metrics", "metrics", sandbox_metrics);
  add("GET", "/sandboxes/{id}/logs", "logs", sandbox_logs_v1);
  add("GET", "/v2/sandboxes/{id}/logs", "logs", sandbox_logs_v2);
  add("POST", "/sandboxes/{id}/fork", "fork", fork_sandbox);
  add("POST", "/v2/sandboxes/{id}/fork", "fork", fork_sandbox);
  add("POST", "/sandboxes/{id}/snapshots", "snapshot", snapshot_sandbox);
  add("GET", "/snapshots", "snapshots", list_snapshots);
}

void Control::add_templates() {
  add("GET", "/templates", "templates", list_templates);
  add("GET", "/v2/templates", "templates", list_templates);
  add("GET", "/templates/aliases/{alias}", "templates", template_alias);
  add("GET", "/templates/{id}", "templates", template_info);
  add("GET", "/templates/{id}/tags", "templates", template_tags);
  add("DELETE", "/templates/{id}", "delete_template", delete_template);
  for (const char* pattern : {"/templates", "/v2/templates", "/v3/templates", "/templates/{id}", "/templates/tags",
                              "/templates/{id}/builds/{build}", "/v2/templates/{id}/builds/{build}"}) {
    add("POST", pattern, "build", refuse_template_build);
  }
  add("DELETE", "/templates/tags", "build", refuse_template_build);
  add("PATCH", "/templates/{id}", "build", refuse_template_build);
  add("PATCH", "/v2/templates/{id}", "build", refuse_template_build);
  add("GET", "/templates/{id}/files/{hash}", "build", refuse_template_build);
  add("GET", "/templates/{id}/builds/{build}/status", "build", refuse_template_build);
  add("GET", "/templates/{id}/builds/{build}/logs", "build", refuse_template_build);
}

void Control::add_others() {
  add("GET", "/teams", "teams", list_teams);
  add("GET", "/volumes", "volumes", empty_list);
  add("POST", "/volumes", "volumes", refuse_volumes);
  add("GET", "/volumes/{id}", "volumes", no_such_volume);
  add("DELETE", "/volumes/{id}", "volumes", no_such_volume);
  add("GET", "/secrets", "secrets", empty_list);
  add("POST", "/secrets", "secrets", refuse_secrets);
  for (const char* method : {"GET", "POST", "DELETE"}) add(method, "/secrets/{id}", "secrets", no_such_secret);
}

}  // namespace harena::e2b
