#include "folder_backend.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <system_error>

namespace folder {
namespace fs = std::filesystem;
using harena::Error;
using harena::ErrorCode;

namespace {

constexpr const char* kParamsSchema = R"({
  "type": "object", "additionalProperties": false,
  "properties": {"note": {"type": "string", "maxLength": 200, "default": "", "description": "kept in the folder"}}
})";

// An id becomes a file name: whatever the host promises, check what you build paths from.
Status check_id(std::string_view id) {
  bool good = !id.empty() && id.size() <= 64 && std::ranges::all_of(id, [](unsigned char c) { return std::isalnum(c) != 0; });
  if (good) return harena::ok_status();
  return harena::make_error(ErrorCode::invalid_argument, "sandbox id '" + std::string(id) + "' isn't letters and digits");
}

Error system_error(const std::error_code& code, std::string_view what) {
  return harena::errno_error(code.value(), what);
}

}  // namespace

Result<std::unique_ptr<FolderBackend>> FolderBackend::make(const Call&, Host, const json& config) {
  fs::path root = config.at("root").get<std::string>();
  std::error_code failed;
  fs::create_directories(root, failed);
  if (failed) return system_error(failed, "making the folder " + root.string());
  return std::make_unique<FolderBackend>(root);
}

Result<json> FolderBackend::describe(const Call&) {
  return json{{"name", "folder"}, {"params_schema", json::parse(kParamsSchema)}, {"session", false}, {"needs_image", false}};
}

Result<json> FolderBackend::probe(const Call&) {
  return json{{"usable", true}, {"why_not", json::array()}, {"facts", {{"root", root_.string()}}}};
}

Result<json> FolderBackend::create(const Call& call, const json& request) {
  std::string id = request.at("sandbox_id");
  HARENA_TRY_STATUS(check_id(id));
  std::error_code failed;
  // mkdir is the test and the act in one, so two callers can't both make it.
  if (!fs::create_directory(root_ / id, failed)) {
    if (failed) return system_error(failed, "making the sandbox " + id);
    return harena::make_error(ErrorCode::already_exists, "sandbox '" + id + "' exists");
  }
  std::ofstream(root_ / id / "note") << request.at("params").value("note", "");
  // Whoever called may have gone away meanwhile: nothing half-made stays.
  if (auto live = call.check(); !live.ok()) {
    fs::remove_all(root_ / id, failed);
    return std::move(live).error();
  }
  return json{{"state", "1"}, {"details", json::object()}};  // begin your state with its version
}

Result<json> FolderBackend::recover(const Call&, std::string_view sandbox_id, std::string_view) {
  HARENA_TRY_STATUS(check_id(sandbox_id));
  if (fs::exists(root_ / sandbox_id)) return json{{"status", "running"}};
  return json{{"status", "gone"}, {"cause", "none"}, {"detail", "its folder isn't there"}};
}

Status FolderBackend::stop(const Call&, std::string_view sandbox_id, std::int64_t) {
  HARENA_TRY_STATUS(check_id(sandbox_id));
  std::error_code failed;
  fs::remove_all(root_ / sandbox_id, failed);  // fine when it isn't there
  if (failed) return system_error(failed, "removing the sandbox " + std::string(sandbox_id));
  return harena::ok_status();
}

Result<json> FolderBackend::sweep(const Call& call, const std::vector<std::string>& known_ids) {
  json removed = json::array();
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(root_, failed)) {
    std::string id = entry.path().filename();
    if (std::ranges::find(known_ids, id) != known_ids.end()) continue;
    HARENA_TRY_STATUS(stop(call, id, 0));
    removed.push_back(id);
  }
  if (failed) return system_error(failed, "reading the folder " + root_.string());
  return json{{"removed", removed}};
}

Result<json> FolderBackend::usage(const Call&, std::string_view sandbox_id) {
  HARENA_TRY_STATUS(check_id(sandbox_id));
  std::error_code failed;
  if (!fs::exists(root_ / sandbox_id)) {
    return harena::make_error(ErrorCode::not_found, "sandbox '" + std::string(sandbox_id) + "' isn't known");
  }
  auto bytes = fs::file_size(root_ / sandbox_id / "note", failed);
  return json{{"disk_bytes", failed ? 0 : bytes}};
}

}  // namespace folder

HARENA_PLUGIN(folder::FolderBackend)
