#include "plugins/e2b/envd/files/file_upload.hpp"

#include <algorithm>

#include "plugins/e2b/envd/files/entry.hpp"
#include "plugins/e2b/envd/files/tree.hpp"
#include "sdk/base/text.hpp"

namespace harena::e2b {

using http::Task;
using nlohmann::json;

namespace {

constexpr std::string_view kHeaderPrefix = "x-metadata-";
/// With "user.e2b." in front the 255 bytes of a name of Linux.
constexpr std::size_t kMaxKeyBytes = 246;
constexpr std::size_t kMaxTotalBytes = 4096;

bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

std::string attribute_target(SandboxCall& call, const std::string& path, const std::string& name) {
  return call.file_target("/xattrs", path) + "&follow=true&name=" + percent_encode(name);
}

/// All attributes of ours that the new file doesn't have: a replaced file's are gone with it, but not where it is written in place.
Task<Status> store_metadata(SandboxCall& call, const Upload& upload) {
  for (const auto& [key, value] : upload.metadata) {
    ApiBody body;
    body.text = value;
    body.type = "application/octet-stream";
    auto target = attribute_target(call, upload.path, std::string(kMetadataPrefix) + key);
    HARENA_CO_TRY(const auto stored, co_await call.api.send("PUT", std::move(target), std::move(body)));
  }
  co_return ok_status();
}

Task<Status> clear_metadata(SandboxCall& call, const Upload& upload) {
  HARENA_CO_TRY(const auto old, co_await read_metadata(call, upload.path));
  for (const auto& [key, value] : old) {
    if (upload.metadata.contains(key)) continue;
    auto target = attribute_target(call, upload.path, std::string(kMetadataPrefix) + key);
    auto removed = co_await call.api.ask("DELETE", std::move(target));
    if (!removed && removed.error().code != ErrorCode::not_found) co_return std::move(removed).error();
  }
  co_return ok_status();
}

}  // namespace

Result<Metadata> metadata_of(const http::Headers& headers) {
  Metadata all;
  std::size_t total = 0;
  for (const auto& field : headers) {
    const auto name = ascii_lower(field.name);
    if (!name.starts_with(kHeaderPrefix)) continue;
    const auto key = name.substr(kHeaderPrefix.size());
    if (key.empty() || key.size() > kMaxKeyBytes) {
      return make_error(ErrorCode::invalid_argument, "metadata key of " + std::to_string(key.size()) + " bytes; 1 to 246 are right");
    }
    if (!printable(key) || !printable(field.value)) {
      return make_error(ErrorCode::invalid_argument, "metadata '" + as_utf8(key) + "' isn't printable ASCII");
    }
    total += key.size() + field.value.size();
    all[key] = field.value;
  }
  if (total > kMaxTotalBytes) return make_error(ErrorCode::invalid_argument, "metadata of " + std::to_string(total) + " bytes; at most 4096 in all");
  return all;
}

Task<Result<Upload>> prepare_upload(SandboxCall& call, std::string wish, Metadata metadata) {
  Upload upload;
  upload.wish = wish;
  upload.metadata = std::move(metadata);
  HARENA_CO_TRY(upload.path, co_await call.path(std::move(wish)));
  HARENA_CO_TRY(upload.owner, co_await call.account());
  auto there = co_await stat_file(call, upload.path, true);
  if (there) {
    if (there->value("type", "") != "dir") co_return upload;
    co_return make_error(ErrorCode::invalid_argument, "path is a directory: " + as_utf8(upload.path));
  }
  HARENA_CO_TRY_STATUS(co_await make_folders(call, parent_path(upload.path), upload.owner));
  co_return upload;
}

Task<Status> store_upload(SandboxCall& call, const Upload& upload, http::BodySource& body) {
  HARENA_CO_TRY(const auto stored, co_await call.api.upload("PUT", call.file_target("", upload.path), body));
  const bool owned = stored.value("uid", 0u) == upload.owner.uid && stored.value("gid", 0u) == upload.owner.gid;
  if (!owned) {
    HARENA_CO_TRY_STATUS(co_await give_to(call, upload.path, upload.owner));
  }
  HARENA_CO_TRY_STATUS(co_await clear_metadata(call, upload));
  co_return co_await store_metadata(call, upload);
}

json upload_answer(const Upload& upload) {
  json answer = {{"name", as_utf8(base_name(upload.path))}, {"path", as_utf8(upload.path)}, {"type", "file"}};
  if (!upload.metadata.empty()) answer["metadata"] = upload.metadata;
  return answer;
}

}  // namespace harena::e2b
