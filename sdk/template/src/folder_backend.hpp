#pragma once
// A backend whose sandboxes are folders below one root: root/ID. Thread-safe: the file system is its only state.

#include <filesystem>
#include <memory>
#include <string>

#include "sdk/cpp/plugin.hpp"

namespace folder {

using harena::Result;
using harena::Status;
using harena::plugin::Call;
using harena::plugin::Host;
using harena::plugin::json;

class FolderBackend final : public harena::plugin::BackendPlugin {
 public:
  static constexpr harena::plugin::Info kInfo{
      .licence = "Apache-2.0",
      .config_schema = R"({
        "type": "object", "additionalProperties": false, "required": ["root"],
        "properties": {
          "root": {"type": "string", "minLength": 1, "pattern": "^/", "description": "folder that holds the sandboxes"}
        }
      })"};

  static Result<std::unique_ptr<FolderBackend>> make(const Call& call, Host host, const json& config);
  explicit FolderBackend(std::filesystem::path root) : root_(std::move(root)) {}

  Result<json> describe(const Call& call) override;
  Result<json> probe(const Call& call) override;
  Result<json> create(const Call& call, const json& request) override;
  Result<json> recover(const Call& call, std::string_view sandbox_id, std::string_view state) override;
  Status stop(const Call& call, std::string_view sandbox_id, std::int64_t grace_ms) override;
  Result<json> sweep(const Call& call, const std::vector<std::string>& known_ids) override;
  Result<json> usage(const Call& call, std::string_view sandbox_id) override;

 private:
  std::filesystem::path root_;
};

}  // namespace folder
