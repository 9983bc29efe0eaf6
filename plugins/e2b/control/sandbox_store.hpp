#pragma once
// SandboxStore: sandboxes of one caller, asked of the core with his key.

#include <optional>
#include <string>
#include <vector>

#include "plugins/e2b/record.hpp"
#include "sdk/http/task.hpp"

namespace harena::e2b {

/// Borrows the services. Errors are the API's.
class SandboxStore {
 public:
  SandboxStore(Services& services, std::string key) : services_(services), key_(std::move(key)) {}

  /// One that lives. not_found for all others, in E2B's words.
  http::Task<Result<Record>> living(std::string id);
  /// All that live, of every state E2B knows.
  http::Task<Result<std::vector<Record>>> all_living(std::optional<std::string> template_id = std::nullopt);
  /// `verb` of one: "pause", "resume", "stop"; the sandbox after it.
  http::Task<Result<Record>> act(std::string id, std::string verb);
  http::Task<Result<Record>> update(std::string id, nlohmann::json changes);
  http::Task<Result<Record>> create(std::string backend, nlohmann::json body, std::string idempotency_key);
  http::Task<Result<nlohmann::json>> usage(std::string id);
  /// The project of the key.
  http::Task<Result<std::string>> project();
  http::Task<Result<nlohmann::json>> ask(std::string method, std::string target, nlohmann::json body = nullptr);

 private:
  Services& services_;
  std::string key_;
};

}  // namespace harena::e2b
