#include "core/api/installation_routes.hpp"

namespace harena {

using http::Task;
using nlohmann::json;

namespace {

json amount_json(const NodeAmount& amount) {
  return {{"sandboxes", amount.sandboxes}, {"cpu_milli", amount.cpu_milli}, {"memory_bytes", amount.memory_bytes}};
}

json node_json(const NodeView& node) {
  json unusable = json::object();
  for (const auto& [name, why] : node.unusable_backends) unusable[name] = why;
  return {{"edge", node.name},
          {"state", node.healthy ? "healthy" : "unhealthy"},
          {"why", node.why_unhealthy},
          {"capacity", amount_json(node.capacity)},
          {"used", amount_json(node.used)},
          {"backends", node.backends},
          {"unusable_backends", std::move(unusable)},
          {"labels", node.labels}};
}

}  // namespace

json to_json(const BackendListing& listing) {
  const auto& description = listing.description;
  return {{"name", description.name},
          {"plugin", listing.plugin_id},
          {"version", listing.plugin_version},
          {"usable", listing.probe.usable},
          {"why_not", listing.probe.why_not},
          {"verbs", description.verbs},
          {"kept", description.kept},
          {"needs_image", description.needs_image},
          {"session", description.session},
          {"params_schema", description.params_schema},
          {"facts", listing.probe.facts}};
}

void InstallationRoutes::add_to(ApiRouter& router) {
  using R = InstallationRoutes;
  router.add("GET", "/v1/version", "version", "Versions", this, &R::version);
  router.add("GET", "/v1/backends", "list_backends", "The backends and their parameters", this, &R::backends);
  router.add("GET", "/v1/plugins", "list_plugins", "The enabled plugins", this, &R::plugins);
  router.add("GET", "/v1/nodes", "list_nodes", "The edges", this, &R::nodes);
  router.add("GET", "/v1/doctor", "doctor", "What this host has, lacks, and what that costs", this, &R::doctor);
}

InstallationRoutes::Answer InstallationRoutes::version(ApiCall&) {
  json body = {{"version", HARENA_VERSION}, {"abi", "0.1"}, {"session_protocol", "harena.session/1"}};
  co_return Reply{200, std::move(body)};
}

InstallationRoutes::Answer InstallationRoutes::backends(ApiCall&) {
  json list = json::array();
  for (const auto& listing : co_await services_.fleet.backends()) list.push_back(to_json(listing));
  json body = {{"backends", std::move(list)}};
  co_return Reply{200, std::move(body)};
}

InstallationRoutes::Answer InstallationRoutes::plugins(ApiCall& call) {
  HARENA_CO_TRY_STATUS(services_.iam.authorize(call.principal, Permission::node_read, ProjectPath::root()));
  json body = {{"plugins", services_.plugins()}};
  co_return Reply{200, std::move(body)};
}

InstallationRoutes::Answer InstallationRoutes::nodes(ApiCall& call) {
  HARENA_CO_TRY_STATUS(services_.iam.authorize(call.principal, Permission::node_read, ProjectPath::root()));
  json list = json::array();
  for (const auto& node : services_.fleet.nodes()) list.push_back(node_json(node));
  json body = {{"nodes", std::move(list)}};
  co_return Reply{200, std::move(body)};
}

InstallationRoutes::Answer InstallationRoutes::doctor(ApiCall& call) {
  HARENA_CO_TRY_STATUS(services_.iam.authorize(call.principal, Permission::node_read, ProjectPath::root()));
  auto findings = co_await http::blocking(services_.workers, [this] { return services_.doctor(); });
  json body = {{"findings", std::move(findings)}};
  co_return Reply{200, std::move(body)};
}

}  // namespace harena
