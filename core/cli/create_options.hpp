#pragma once
// The options that `create` and `run` share, and the request they become.

#include <string>
#include <vector>

#include "core/cli/limit_options.hpp"
#include "core/cli/program.hpp"

namespace harena::cli {

struct CreateOptions {
  std::string image;
  std::string snapshot;
  std::string backend = "container";
  std::vector<std::string> workspaces;
  std::vector<std::string> toolkits;
  std::string project;
  std::string task;
  std::vector<std::string> labels;
  std::string idle_ttl;
  std::string idle_action;
  std::string lifetime;
  LimitOptions limits;
  std::vector<std::string> params;
  std::string key;

  void add_to(CLI::App& app);
  /// Asks the server for the backend's schema when there are params to type.
  Result<nlohmann::json> body(client::Client& client) const;
};

/// The params_schema of a backend of the installation; not_found names the nearest.
Result<nlohmann::json> backend_schema(client::Client& client, const std::string& backend);

}  // namespace harena::cli
