#pragma once
// Forks and snapshots (docs/http-api.md).

#include <functional>
#include <string>

#include "sdk/client/client.hpp"

namespace harena::client {

/// Answers are the API's documents. As thread-safe as its Client.
class Snapshots {
 public:
  explicit Snapshots(Client& client) : client_(client) {}

  /// `body` as in the API ({"count": 3}); {"kept", "results": [{"index", "sandbox" | "error"}]}.
  Result<json> fork(const std::string& sandbox, json body);
  /// `name` empty: its id.
  Result<json> take(const std::string& sandbox, const std::string& name);
  Result<json> rollback(const std::string& sandbox, const std::string& snapshot);
  /// By id, or by name in `project` (empty: the token's).
  Result<json> get(const std::string& snapshot, const std::string& project = {});
  Status remove(const std::string& snapshot, const std::string& project = {});
  Status list(const std::string& project, const std::string& sandbox, const std::function<Status(const json&)>& on_snapshot);

 private:
  Client& client_;
};

/// The error of one result of a fork: {"error": {...}}.
Error error_from(const json& result);

}  // namespace harena::client
