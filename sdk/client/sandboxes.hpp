#pragma once
// Sandboxes: making, finding and ending them.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sdk/client/client.hpp"

namespace harena::client {

struct SandboxInfo {
  std::string id;
  std::string backend;
  std::string state;
  std::string project;
  std::string task;
  std::string image;
  std::int64_t created_ms = 0;
  /// The whole answer.
  json raw;

  static SandboxInfo from_json(const json& body);
};

struct SandboxFilter {
  std::string project;
  std::string task;
  std::string backend;
  std::vector<std::string> states;
  std::vector<std::string> labels;  // "key=value"
};

/// Verbs on sandboxes. All are idempotent towards a lost reply: creation carries a key.
class Sandboxes {
 public:
  explicit Sandboxes(Client& client) : client_(client) {}

  /// `body` as in docs/http-api.md; an `idempotency_key` is added when it has none.
  Result<SandboxInfo> create(const std::string& backend, json body);
  Result<SandboxInfo> get(const std::string& id);
  Status list(const SandboxFilter& filter, const std::function<Status(const SandboxInfo&)>& on_sandbox);
  Result<SandboxInfo> pause(const std::string& id) { return act(id, "pause", json::object()); }
  Result<SandboxInfo> resume(const std::string& id) { return act(id, "resume", json::object()); }
  /// Other parameters of the backend for a living sandbox: what `params` doesn't name stays, null is the default again.
  Result<SandboxInfo> resize(const std::string& id, json params);
  Result<SandboxInfo> stop(const std::string& id, std::int64_t grace_ms = 0);
  /// The backends of the installation, as in the API.
  Result<json> backends();

 private:
  Result<SandboxInfo> act(const std::string& id, const char* verb, const json& body);
  Client& client_;
};

}  // namespace harena::client
