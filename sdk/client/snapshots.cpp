#include "sdk/client/snapshots.hpp"

#include "sdk/client/wire.hpp"

namespace harena::client {

namespace {
std::string target_of(const std::string& snapshot, const std::string& project) {
  return "/snapshots/" + segment(snapshot) + query({{"project", project}});
}
}  // namespace

Error error_from(const json& result) { return error_from_json(result.value("error", json::object()), 0); }

Result<json> Snapshots::fork(const std::string& sandbox, json body) {
  if (!body.contains("idempotency_key")) body["idempotency_key"] = client_.unique_key();
  return client_.post("/sandboxes/" + segment(sandbox) + "/fork", body, true);
}

Result<json> Snapshots::take(const std::string& sandbox, const std::string& name) {
  json body = {{"idempotency_key", client_.unique_key()}};
  if (!name.empty()) body["name"] = name;
  // Without a name a repeat would be another snapshot.
  return client_.post("/sandboxes/" + segment(sandbox) + "/snapshots", body, !name.empty());
}

Result<json> Snapshots::rollback(const std::string& sandbox, const std::string& snapshot) {
  return client_.post("/sandboxes/" + segment(sandbox) + "/rollback", {{"snapshot", snapshot}}, true);
}

Result<json> Snapshots::get(const std::string& snapshot, const std::string& project) { return client_.get(target_of(snapshot, project)); }

Status Snapshots::remove(const std::string& snapshot, const std::string& project) {
  const auto removed = client_.remove(target_of(snapshot, project));
  return removed.ok() ? Status() : Status(removed.error());
}

Status Snapshots::list(const std::string& project, const std::string& sandbox, const std::function<Status(const json&)>& on_snapshot) {
  return client_.pages("/snapshots" + query({{"project", project}, {"sandbox", sandbox}}), "snapshots", on_snapshot);
}

}  // namespace harena::client
