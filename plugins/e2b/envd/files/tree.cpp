#include "plugins/e2b/envd/files/tree.hpp"

#include <algorithm>

#include "plugins/e2b/envd/files/entry.hpp"
#include "sdk/base/text.hpp"

namespace harena::e2b {

using filesystem::EntryInfo;
using http::Task;
using nlohmann::json;

namespace {

constexpr int kPageEntries = 10'000;

/// As JSON wants any bytes.
json path_body(const char* key, const std::string& path) {
  if (is_utf8(path)) return {{key, path}};
  return {{std::string(key) + "_b64", base64_encode(path)}};
}

/// The folders that aren't there, topmost first.
Task<Result<std::vector<std::string>>> missing_folders(SandboxCall& call, std::string path) {
  std::vector<std::string> missing;
  for (; path != "/"; path = parent_path(path)) {
    auto stat = co_await stat_file(call, path, true);
    if (stat) break;
    if (stat.error().code != ErrorCode::not_found) co_return std::move(stat).error();
    missing.push_back(path);
  }
  std::reverse(missing.begin(), missing.end());
  co_return missing;
}

/// The entries of one folder, all pages put together.
Task<Result<json>> list_pages(SandboxCall& call, std::string target) {
  json all = json::array();
  std::string cursor;
  do {
    auto page_target = target;
    if (!cursor.empty()) page_target += "&cursor=" + percent_encode(cursor);
    HARENA_CO_TRY(auto page, co_await call.api.ask("GET", std::move(page_target)));
    for (auto& entry : page["entries"]) all.push_back(std::move(entry));
    cursor = page.value("next_cursor", "");
  } while (!cursor.empty());
  co_return all;
}

class Lister {
 public:
  Lister(SandboxCall& call, std::uint32_t depth) : call_(call), depth_(depth) {}

  Task<Status> list(std::string folder, std::uint32_t level) {
    auto entries = co_await list_folder(folder);
    if (!entries) {
      // A folder that went away meanwhile isn't an error of the tree's; the one that was asked for is.
      if (level > 1 && entries.error().code == ErrorCode::not_found) co_return ok_status();
      co_return std::move(entries).error();
    }
    for (auto& stat : *entries) {
      const auto name = bytes_member(stat, "name");
      const auto path = (folder == "/" ? "" : folder) + "/" + name;
      const bool deeper = stat.value("type", "") == "dir" && level < depth_;
      HARENA_CO_TRY(auto entry, co_await full_entry(call_, std::move(stat), path, known_, metadata_));
      found.push_back(std::move(entry));
      if (deeper) {
        HARENA_CO_TRY_STATUS(co_await list(path, level + 1));
      }
    }
    co_return ok_status();
  }

  std::vector<EntryInfo> found;

 private:
  /// With metadata, unless it can't be had so: from a sandbox that outlived an upgrade, and from one with more attributes than a page holds.
  Task<Result<json>> list_folder(const std::string& folder) {
    const auto target = call_.file_target("/list", folder) + "&limit=" + std::to_string(kPageEntries);
    if (metadata_ == MetadataIn::stat) {
      auto listed = co_await list_pages(call_, target + "&xattrs=" + std::string(kMetadataPrefix));
      const bool without = !listed && (listed.error().code == ErrorCode::unimplemented || listed.error().code == ErrorCode::resource_exhausted);
      if (!without) co_return listed;
      metadata_ = MetadataIn::file;
    }
    co_return co_await list_pages(call_, target);
  }

  SandboxCall& call_;
  std::uint32_t depth_;
  StatCache known_;
  MetadataIn metadata_ = MetadataIn::stat;
};

}  // namespace

Task<Status> give_to(SandboxCall& call, std::string path, Account owner) {
  auto body = path_body("path", path);
  body["uid"] = owner.uid;
  body["gid"] = owner.gid;
  HARENA_CO_TRY(const auto answer, co_await call.api.ask("POST", call.target("/files/chown"), std::move(body)));
  co_return ok_status();
}

Task<Status> make_folders(SandboxCall& call, std::string path, Account owner) {
  HARENA_CO_TRY(const auto missing, co_await missing_folders(call, path));
  if (missing.empty()) co_return ok_status();
  auto body = path_body("path", path);
  body["parents"] = true;
  body["mode"] = "0755";
  HARENA_CO_TRY(const auto answer, co_await call.api.ask("POST", call.target("/files/mkdir"), std::move(body)));
  if (owner.uid == 0 && owner.gid == 0) co_return ok_status();
  for (const auto& folder : missing) {
    HARENA_CO_TRY_STATUS(co_await give_to(call, folder, owner));
  }
  co_return ok_status();
}

Task<Status> need_folder(SandboxCall& call, std::string path) {
  auto stat = co_await stat_file(call, path, true);
  if (!stat) {
    if (stat.error().code != ErrorCode::not_found) co_return std::move(stat).error();
    co_return make_error(ErrorCode::not_found, "directory not found: " + as_utf8(path));
  }
  if (stat->value("type", "") == "dir") co_return ok_status();
  co_return make_error(ErrorCode::invalid_argument, "path is not a directory: " + as_utf8(path));
}

Task<Result<std::vector<EntryInfo>>> list_tree(SandboxCall& call, std::string path, std::uint32_t depth) {
  HARENA_CO_TRY_STATUS(co_await need_folder(call, path));
  Lister lister(call, std::max(depth, 1u));
  HARENA_CO_TRY_STATUS(co_await lister.list(path, 1));
  co_return std::move(lister.found);
}

}  // namespace harena::e2b
